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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"authsvc/internal/idp"
)

const lifeSecret = "qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"

// A life is one process of the program, from its start to its end.
type life struct {
	t    *testing.T
	addr string
	dir  string
	cmd  *exec.Cmd
	out  *output
	done chan struct{}
	err  error // of the process, once done is closed
}

// prepare makes a process that serves a configuration, without starting it.
// "listen" is added to the configuration.
func prepare(t *testing.T, dir, addr, config string, env ...string) *life {
	t.Helper()
	l := &life{t: t, addr: addr, dir: dir, out: &output{}, done: make(chan struct{})}
	l.write(config)
	l.cmd = exec.Command(os.Args[0])
	l.cmd.Args = []string{"authsvc", "serve", "--config", addrFile(addr)} // TestMain makes it the program
	l.cmd.Dir, l.cmd.Stdout, l.cmd.Stderr = dir, l.out, l.out
	l.cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}, env...)
	return l
}

// addrFile is the configuration of the process at an address.
func addrFile(addr string) string { return strings.ReplaceAll(addr, ":", "_") + ".yaml" }

// write replaces the configuration in one step.
func (l *life) write(config string) {
	l.t.Helper()
	file := filepath.Join(l.dir, addrFile(l.addr))
	if err := os.WriteFile(file+".new", []byte(config+"\nlisten: "+l.addr+"\n"), 0o600); err != nil {
		l.t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		l.t.Fatal(err)
	}
}

// start runs the process until it is ready. It is killed with the test.
func (l *life) start() {
	l.t.Helper()
	if err := l.cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	go func() { l.err = l.cmd.Wait(); close(l.done) }()
	l.t.Cleanup(func() {
		l.cmd.Process.Kill()
		<-l.done
		if l.t.Failed() {
			said := l.out.String()
			l.t.Logf("the service at %s said\n%s", l.addr, said[max(0, len(said)-4000):])
		}
	})
	eventually(l.t, "ready", func() bool {
		select {
		case <-l.done:
			l.t.Fatalf("the service ended: %v\n%s", l.err, l.out)
		default:
		}
		code, _ := statusOf(l.t, "http://"+l.addr+"/readyz")
		return code == http.StatusOK
	})
}

func (l *life) signal(s syscall.Signal) {
	l.t.Helper()
	if err := l.cmd.Process.Signal(s); err != nil {
		l.t.Error(err)
	}
}

// ended waits for the process and returns its exit code.
func (l *life) ended(within time.Duration) int {
	l.t.Helper()
	select {
	case <-l.done:
	case <-time.After(within):
		l.t.Fatalf("the service still runs after %v", within)
	}
	return l.cmd.ProcessState.ExitCode()
}

// terminate stops the process and wants a clean end.
func (l *life) terminate() {
	l.t.Helper()
	l.signal(syscall.SIGTERM)
	if code := l.ended(20 * time.Second); code != 0 {
		l.t.Errorf("exit code %d after SIGTERM\n%s", code, l.out)
	}
}

// says waits for a text in the output.
func (l *life) says(text string, times int) {
	l.t.Helper()
	eventually(l.t, "saying "+text, func() bool { return strings.Count(l.out.String(), text) >= times })
}

// reload writes a configuration and waits until it is in force.
func (l *life) reload(config string) {
	l.t.Helper()
	before := strings.Count(l.out.String(), "configuration.changed")
	l.write(config)
	l.signal(syscall.SIGHUP)
	l.says("configuration.changed", before+1)
}

func openProvider(t *testing.T) *idp.Server {
	t.Helper()
	op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: "life-client-secret"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	return op
}

// lifeConfig signs people in at op, without limits; more lines follow.
func lifeConfig(origin string, op *idp.Server, more ...string) string {
	return "url: " + origin + "\nsecret: " + lifeSecret + "\nrate_limit: {enabled: false}\n" +
		"providers:\n  - {id: op, type: oidc, name: Op, issuer: \"" + op.Issuer() + "\", client_id: app, client_secret: life-client-secret}\n" +
		strings.Join(more, "\n") + "\n"
}

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

// leave begins a sign-in and returns where the provider sends the person back.
func (p *person) leave(ctx context.Context) (string, error) {
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

// comeBack ends a sign-in, and sees that there is a session.
func (p *person) comeBack(ctx context.Context, at string) error {
	status, to, raw, err := p.do(ctx, "GET", at, nil)
	if err != nil || status != http.StatusFound || strings.Contains(to, "error") {
		return fmt.Errorf("callback: %d %s %.200s %w", status, to, raw, err)
	}
	return p.signedIn(ctx)
}

// signedIn sees that there is a session.
func (p *person) signedIn(ctx context.Context) error {
	status, _, raw, err := p.do(ctx, "GET", p.base+"/session", nil)
	if err != nil || status != http.StatusOK || !strings.Contains(string(raw), "grace@example.com") {
		return fmt.Errorf("session: %d %.200s %w", status, raw, err)
	}
	return nil
}

func (p *person) signIn(ctx context.Context) error {
	at, err := p.leave(ctx)
	if err != nil {
		return err
	}
	return p.comeBack(ctx, at)
}

// A crowd does the same over and over, many at a time, and counts.
type crowd struct {
	mu     sync.Mutex
	done   int
	failed []error
	cancel context.CancelFunc
	all    sync.WaitGroup
}

// undialled reports that no connection was made, so that nothing was sent.
func undialled(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// gather starts n people. Who can make no connection any more goes home.
func gather(t *testing.T, n int, step func(ctx context.Context, i int) error) *crowd {
	ctx, cancel := context.WithCancel(context.Background())
	c := &crowd{cancel: cancel}
	t.Cleanup(c.stop)
	for i := range n {
		c.all.Go(func() {
			for ctx.Err() == nil {
				err := step(context.WithoutCancel(ctx), i)
				if undialled(err) {
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

// stop ends it after the steps under way.
func (c *crowd) stop() { c.cancel(); c.all.Wait() }

func (c *crowd) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// faultless stops and fails the test if a step failed, or none was done.
func (c *crowd) faultless(t *testing.T) {
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
