package arena

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"time"

	"authsvc/internal/idp"
	"authsvc/internal/mailbox"
)

// A Visitor is a browser on a real connection. It keeps cookies and follows no
// redirects. Its methods return network errors, which a test may expect.
type Visitor struct {
	Client *http.Client
	Base   string // scheme://host:port
}

// NewVisitor returns one without cookies. Visitors share the transport, nil
// for a new one.
func NewVisitor(base string, transport http.RoundTripper) *Visitor {
	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err) // New fails with options only
	}
	if transport == nil {
		transport = &http.Transport{}
	}
	return &Visitor{Base: base, Client: &http.Client{Jar: jar, Timeout: 30 * time.Second, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (v *Visitor) do(r *http.Request, err error) (*Answer, error) {
	if err != nil {
		return nil, err
	}
	res, err := v.Client.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return &Answer{res, string(body)}, err
}

// Get opens a path of Base or an absolute address.
func (v *Visitor) Get(path string) (*Answer, error) {
	return v.do(http.NewRequest(http.MethodGet, v.abs(path), nil))
}

func (v *Visitor) abs(path string) string {
	if strings.HasPrefix(path, "/") {
		return v.Base + path
	}
	return path
}

// Post sends a form with the CSRF token.
func (v *Visitor) Post(path string, fields ...string) (*Answer, error) {
	token, err := v.CSRF()
	if err != nil {
		return nil, err
	}
	form := url.Values{"csrfToken": {token}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	r, err := http.NewRequest(http.MethodPost, v.abs(path), strings.NewReader(form.Encode()))
	if err == nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return v.do(r, err)
}

func (v *Visitor) json(path string, into any) error {
	a, err := v.Get(path)
	if err != nil {
		return err
	}
	if a.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %d %.200s", path, a.StatusCode, a.Text)
	}
	return json.Unmarshal([]byte(a.Text), into)
}

// CSRF is the token of GET csrf.
func (v *Visitor) CSRF() (string, error) {
	var token struct{ CSRFToken string }
	err := v.json("/api/auth/csrf", &token)
	return token.CSRFToken, err
}

// Email is the address of who is signed in, "" of nobody.
func (v *Visitor) Email() (string, error) {
	var s struct{ User struct{ Email string } }
	err := v.json("/api/auth/session", &s)
	return s.User.Email, err
}

// SignIn goes through the flow at "op" as the person sub; an answer that is no
// redirect into the application is an error.
func (v *Visitor) SignIn(op *idp.Server, sub string) error {
	a, err := v.Post("/api/auth/signin/op")
	if err != nil {
		return err
	}
	answer, err := op.Approve(a.Location(), sub)
	if err != nil {
		return fmt.Errorf("signin/op: %d %.200s: %w", a.StatusCode, a.Text, err)
	}
	a, err = v.Get(answer.URL())
	return arrived(a, err)
}

// AskForLink sends the form and returns the link out of the mail.
func (v *Visitor) AskForLink(ctx context.Context, box *mailbox.Server, address string) (string, error) {
	a, err := v.Post("/api/auth/signin/email", "email", address)
	if err != nil {
		return "", err
	}
	if !strings.Contains(a.Location(), "/verify-request") {
		return "", fmt.Errorf("signin/email: %d %s %.200s", a.StatusCode, a.Location(), a.Text)
	}
	m, err := box.Wait(ctx, func(m mailbox.Message) bool { return len(m.To) == 1 && m.To[0] == address })
	return m.Link(), err
}

// Open redeems a link in the browser that asked for it.
func (v *Visitor) Open(link string) error {
	a, err := v.Get(link)
	return arrived(a, err)
}

// SignOut ends the session.
func (v *Visitor) SignOut() error {
	a, err := v.Post("/api/auth/signout")
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
