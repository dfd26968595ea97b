// Package browser is what browses a service under test.
package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc/internal/idp"
)

// An Answer is a response with its body read.
type Answer struct {
	*http.Response
	Text string
}

// Location is the header as it stands.
func (a *Answer) Location() string { return a.Header.Get("Location") }

// URL is the member url of a JSON answer.
func (a *Answer) URL(t testing.TB) string {
	t.Helper()
	var v struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal([]byte(a.Text), &v); err != nil || v.URL == "" {
		t.Fatalf("no url in %d %q", a.StatusCode, a.Text)
	}
	return v.URL
}

// A Browser keeps cookies and follows no redirects. Its methods return network
// errors, which a test may expect.
type Browser struct {
	Client *http.Client
	Base   string // scheme://host:port
}

// New returns one without cookies. Browsers share the transport, nil
// for a new one.
func New(base string, transport http.RoundTripper) *Browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err) // New fails with options only
	}
	if transport == nil {
		transport = &http.Transport{}
	}
	return &Browser{Base: base, Client: &http.Client{Jar: jar, Timeout: 30 * time.Second, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (b *Browser) do(r *http.Request, err error) (*Answer, error) {
	if err != nil {
		return nil, err
	}
	res, err := b.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return &Answer{res, string(body)}, err
}

// Get opens a path of Base or an absolute address.
func (b *Browser) Get(path string) (*Answer, error) {
	return b.do(http.NewRequest(http.MethodGet, b.abs(path), nil))
}

func (b *Browser) abs(path string) string {
	if strings.HasPrefix(path, "/") {
		return b.Base + path
	}
	return path
}

// Post sends a form with the CSRF token.
func (b *Browser) Post(path string, fields ...string) (*Answer, error) {
	token, err := b.CSRF()
	if err != nil {
		return nil, err
	}
	form := url.Values{"csrfToken": {token}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r, err := http.NewRequest(http.MethodPost, b.abs(path), strings.NewReader(form.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return b.do(r, err)
}

func (b *Browser) json(path string, into any) error {
	a, err := b.Get(path)
	if err != nil {
		return err
	}
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %d %.200s", path, a.StatusCode, a.Text)
	}
	return json.Unmarshal([]byte(a.Text), into)
}

// CSRF is the token of GET csrf.
func (b *Browser) CSRF() (string, error) {
	var token struct{ CSRFToken string }
	err := b.json("/api/auth/csrf", &token)
	return token.CSRFToken, err
}

// Email is the address of who is signed in, "" of nobody.
func (b *Browser) Email() (string, error) {
	var s struct{ User struct{ Email string } }
	err := b.json("/api/auth/session", &s)
	return s.User.Email, err
}

// SignIn goes through the flow at "op" as the person sub; an answer that is no
// redirect into the application is an error.
func (b *Browser) SignIn(op *idp.Server, sub string) error {
	a, err := b.Post("/api/auth/signin/op")
	if err != nil {
		return err
	}
	answer, err := op.Approve(a.Location(), sub)
	if err != nil {
		return fmt.Errorf("signin/op: %d %.200s: %w", a.StatusCode, a.Text, err)
	}
	a, err = b.Get(answer.URL())
	return arrived(a, err)
}

// A Mailbox waits for a mail to an address and returns the link in it.
type Mailbox interface {
	LinkTo(ctx context.Context, address string) (string, error)
}

// AskForLink sends the form and returns the link out of the mail.
func (b *Browser) AskForLink(ctx context.Context, box Mailbox, address string) (string, error) {
	a, err := b.Post("/api/auth/signin/email", "email", address)
	if err != nil {
		return "", err
	}
	if !strings.Contains(a.Location(), "/verify-request") {
		return "", fmt.Errorf("signin/email: %d %s %.200s", a.StatusCode, a.Location(), a.Text)
	}
	return box.LinkTo(ctx, address)
}

// Open redeems a link in the browser that asked for it.
func (b *Browser) Open(link string) error {
	a, err := b.Get(link)
	return arrived(a, err)
}

// SignOut ends the session.
func (b *Browser) SignOut() error {
	a, err := b.Post("/api/auth/signout")
	return arrived(a, err)
}

func arrived(a *Answer, err error) error {
	if err != nil {
		return err
	}
	if to := a.Location(); a.StatusCode != http.StatusFound || strings.Contains(to, "error") {
		return fmt.Errorf("%s: %d %s %.200s", a.Request.URL.Path, a.StatusCode, to, a.Text)
	}
	return nil
}
