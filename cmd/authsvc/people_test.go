package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc/internal/idp"
)

// A person signs in with a browser of their own.
type person struct {
	base   string
	op     *idp.Server
	client *http.Client
}

func newPerson(origin string, op *idp.Server, transport http.RoundTripper) *person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err) // it never fails
	}
	return &person{base: origin + "/api/auth", op: op, client: &http.Client{Jar: jar, Transport: transport, Timeout: 30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// do sends a request, and returns status, Location and body.
func (p *person) do(ctx context.Context, method, to string, form url.Values) (int, string, []byte, error) {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, to, body)
	if err != nil {
		return 0, "", nil, err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := p.client.Do(req)
	if err != nil {
		return 0, "", nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header.Get("Location"), raw, err
}

// startSignIn begins a sign-in and returns the URL to which the provider sends the
// person back.
func (p *person) startSignIn(ctx context.Context) (string, error) {
	var csrf struct {
		Token string `json:"csrfToken"`
	}
	status, _, raw, err := p.do(ctx, "GET", p.base+"/csrf", nil)
	if err != nil || json.Unmarshal(raw, &csrf) != nil {
		return "", fmt.Errorf("csrf: %d %.200s %w", status, raw, err)
	}
	var to struct{ URL string }
	status, _, raw, err = p.do(ctx, "POST", p.base+"/signin/op", url.Values{"csrfToken": {csrf.Token}, "json": {"true"}})
	if err != nil || json.Unmarshal(raw, &to) != nil {
		return "", fmt.Errorf("signin: %d %.200s %w", status, raw, err)
	}
	answer, err := p.op.Approve(to.URL, "grace")
	if err != nil {
		return "", fmt.Errorf("signin led to %s: %w", to.URL, err)
	}
	return answer.URL(), nil
}

// finishSignIn ends a sign-in, and checks that there is a session.
func (p *person) finishSignIn(ctx context.Context, at string) error {
	status, to, raw, err := p.do(ctx, "GET", at, nil)
	if err != nil || status != http.StatusFound || strings.Contains(to, "error") {
		return fmt.Errorf("callback: %d %s %.200s %w", status, to, raw, err)
	}
	return p.signedIn(ctx)
}

// signedIn checks that there is a session.
func (p *person) signedIn(ctx context.Context) error {
	status, _, raw, err := p.do(ctx, "GET", p.base+"/session", nil)
	if err != nil || status != http.StatusOK || !strings.Contains(string(raw), "grace@example.com") {
		return fmt.Errorf("session: %d %.200s %w", status, raw, err)
	}
	return nil
}

func (p *person) signIn(ctx context.Context) error {
	at, err := p.startSignIn(ctx)
	if err != nil {
		return err
	}
	return p.finishSignIn(ctx, at)
}

// A load runs the same step again and again, several at a time, and counts.
type load struct {
	mu     sync.Mutex
	done   int
	failed []error
	cancel context.CancelFunc
	all    sync.WaitGroup
}

// isDialError reports whether no connection was made, so that nothing was sent.
func isDialError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// startLoad runs step in n goroutines, each until it can make no connection.
func startLoad(t *testing.T, n int, step func(ctx context.Context, i int) error) *load {
	ctx, cancel := context.WithCancel(context.Background())
	c := &load{cancel: cancel}
	t.Cleanup(c.stop)
	for i := range n {
		c.all.Go(func() {
			for ctx.Err() == nil {
				err := step(context.WithoutCancel(ctx), i)
				if isDialError(err) {
					return
				}
				c.mu.Lock()
				if err == nil {
					c.done++
				} else {
					c.failed = append(c.failed, err)
				}
				c.mu.Unlock()
			}
		})
	}
	return c
}

// stop waits for the steps under way.
func (c *load) stop() { c.cancel(); c.all.Wait() }

func (c *load) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// stopWithoutErrors stops, and fails the test if a step failed or none was done.
func (c *load) stopWithoutErrors(t *testing.T) {
	t.Helper()
	c.stop()
	if len(c.failed) > 0 {
		t.Errorf("%d of %d failed; the first: %v", len(c.failed), len(c.failed)+c.done, c.failed[0])
	}
	if c.done == 0 {
		t.Error("nothing was done")
	}
	t.Logf("%d done, %d failed", c.done, len(c.failed))
}
