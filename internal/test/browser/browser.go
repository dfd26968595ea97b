// Package browser provides an HTTP client with a cookie jar for services under test.
package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"authsvc/internal/dev/idp"
)

// An Answer is a response with its body read.
type Answer struct {
	*http.Response
	Text string
}

// Location returns the Location header unchanged.
func (a *Answer) Location() string { return a.Header.Get("Location") }

// URL returns the member url of a JSON answer.
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
// errors, because a test may expect them.
type Browser struct {
	Client *http.Client
	Base   string // scheme://host:port
}

// New returns a browser without cookies. Browsers may share a transport; nil makes a
// new one. [Handler] returns a transport without a network.
func New(base string, transport http.RoundTripper) *Browser {
	if transport == nil {
		transport = &http.Transport{}
	}
	return &Browser{Base: base, Client: &http.Client{Jar: newJar(), Timeout: time.Minute, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func newJar() http.CookieJar {
	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err) // New can fail only with options
	}
	return jar
}

// Follow makes the browser follow redirects.
func (b *Browser) Follow() *Browser {
	b.Client.CheckRedirect = nil
	return b
}

// Fresh returns another browser without cookies that uses the same connections.
func (b *Browser) Fresh() *Browser {
	client := *b.Client
	client.Jar = newJar()
	return &Browser{&client, b.Base}
}

// Clone returns another browser with the cookies that this one would send to Base.
func (b *Browser) Clone() (*Browser, error) {
	u, err := url.Parse(b.Base + "/")
	if err != nil {
		return nil, err
	}
	list := b.Client.Jar.Cookies(u)
	for _, c := range list {
		c.Path, c.Secure = "/", u.Scheme == "https" // a jar returns only names and values
	}
	other := b.Fresh()
	other.Client.Jar.SetCookies(u, list)
	return other, nil
}

// A handler answers without a network.
type handler struct{ http.Handler }

// Handler returns a transport that answers every request with h.
func Handler(h http.Handler) http.RoundTripper { return handler{h} }

func (h handler) RoundTrip(r *http.Request) (*http.Response, error) {
	in := r.Clone(r.Context())
	if in.RequestURI, in.RemoteAddr = r.URL.RequestURI(), "192.0.2.1:1234"; in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, in)
	res := w.Result()
	res.Request = r
	return res, nil
}

// Do sends a request with the browser's cookies and stores the cookies of the answer.
func (b *Browser) Do(r *http.Request) (*Answer, error) {
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
	r, err := http.NewRequest(http.MethodGet, b.abs(path), nil)
	if err != nil {
		return nil, err
	}
	return b.Do(r)
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
	return b.Form(path, form)
}

// Form sends a POST and leaves the CSRF token to the caller.
func (b *Browser) Form(path string, form url.Values) (*Answer, error) {
	r, err := http.NewRequest(http.MethodPost, b.abs(path), strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.Do(r)
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

// CSRF returns the token of GET csrf.
func (b *Browser) CSRF() (string, error) {
	var token struct{ CSRFToken string }
	err := b.json("/api/auth/csrf", &token)
	return token.CSRFToken, err
}

// Email returns the address of the signed-in user, or "".
func (b *Browser) Email() (string, error) {
	var s struct{ User struct{ Email string } }
	err := b.json("/api/auth/session", &s)
	return s.User.Email, err
}

// Begin starts a sign-in with the provider that has the id "op", and approves it at the
// server op as the person sub. It returns the callback URL with the provider's answer,
// for [Browser.Open].
func (b *Browser) Begin(op *idp.Server, sub string) (callback string, err error) {
	a, err := b.Post("/api/auth/signin/op")
	if err != nil {
		return "", err
	}
	answer, err := op.Approve(a.Location(), sub)
	if err != nil {
		return "", fmt.Errorf("signin/op: %d %.200s: %w", a.StatusCode, a.Text, err)
	}
	return answer.URL(), nil
}

// SignIn runs the whole flow at "op" as the person sub. It returns an error unless
// the answer redirects into the application.
func (b *Browser) SignIn(op *idp.Server, sub string) error {
	callback, err := b.Begin(op, sub)
	if err != nil {
		return err
	}
	return b.Open(callback)
}

// A Mailbox waits for a mail to an address and returns the link in it.
type Mailbox interface {
	LinkTo(ctx context.Context, address string) (string, error)
}

// AskForLink sends the form and returns the link in the mail.
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

// Open redeems a sign-in link or opens a callback URL. It returns an error unless the
// answer redirects into the application.
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
