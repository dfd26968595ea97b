package arena

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"authsvc/internal/dev/idp"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/skewed"
)

// A Browser keeps cookies as a real browser does for one origin.
type Browser struct {
	T       testing.TB
	H       http.Handler
	Origin  string
	Cookies map[string]string
	Header  http.Header // added to every request
	IP      string      // with a port
}

// Browser returns a new browser without cookies.
func (w *World) Browser() *Browser {
	return &Browser{T: w.T, H: w, Origin: OriginOf(w.T, w.Config.URL), Cookies: map[string]string{}, Header: http.Header{}, IP: "203.0.113.7:4711"}
}

// OriginOf returns the scheme and host of an address.
func OriginOf(t testing.TB, address string) string {
	t.Helper()
	u := MustURL(t, address)
	return u.Scheme + "://" + u.Host
}

// MustURL parses a URL and fails the test if it is invalid.
func MustURL(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Clone returns another client that shares the cookie jar.
func (b *Browser) Clone() *Browser {
	c := *b
	c.Cookies, c.Header = maps.Clone(b.Cookies), b.Header.Clone()
	return &c
}

// Do sends a request with the jar's cookies and stores the cookies of the answer.
func (b *Browser) Do(r *http.Request) *browser.Answer {
	b.T.Helper()
	r.RemoteAddr = b.IP
	for name, v := range b.Header {
		r.Header[name] = v
	}
	for name, v := range b.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: v})
	}
	rec := httptest.NewRecorder()
	b.H.ServeHTTP(rec, r)
	res := rec.Result()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.T.Fatal(err)
	}
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 || c.Value == "" {
			delete(b.Cookies, c.Name)
		} else {
			b.Cookies[c.Name] = c.Value
		}
	}
	return &browser.Answer{Response: res, Text: string(body)}
}

// Abs returns the address of a path at the browser's origin.
func (b *Browser) Abs(path string) string {
	if strings.HasPrefix(path, "/") {
		return b.Origin + path
	}
	return path
}

// Get requests a path or an absolute address.
func (b *Browser) Get(path string) *browser.Answer {
	b.T.Helper()
	return b.Do(httptest.NewRequest(http.MethodGet, b.Abs(path), nil))
}

// Post sends a form. It adds the CSRF token unless the form has one.
func (b *Browser) Post(path string, fields ...string) *browser.Answer {
	b.T.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	if !form.Has("csrfToken") {
		form.Set("csrfToken", b.CSRF())
	}
	return b.Form(path, form)
}

// Form sends a POST and leaves the CSRF token to the caller. header alternates names
// and values.
func (b *Browser) Form(path string, fields url.Values, header ...string) *browser.Answer {
	b.T.Helper()
	return b.Raw(path, "application/x-www-form-urlencoded", fields.Encode(), header...)
}

// Raw sends a POST with any body. If contentType is empty, it sends no Content-Type.
func (b *Browser) Raw(path, contentType, body string, header ...string) *browser.Answer {
	b.T.Helper()
	r := httptest.NewRequest(http.MethodPost, b.Abs(path), strings.NewReader(body))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return b.Do(r)
}

// CSRF returns the token of GET csrf.
func (b *Browser) CSRF() string {
	b.T.Helper()
	var v struct{ CSRFToken string }
	a := b.Get("/api/auth/csrf")
	if err := json.Unmarshal([]byte(a.Text), &v); err != nil || v.CSRFToken == "" {
		b.T.Fatalf("no csrf token: %d %s", a.StatusCode, a.Text)
	}
	return v.CSRFToken
}

// Session returns the object of GET session.
func (b *Browser) Session() map[string]any {
	b.T.Helper()
	a := b.Get("/api/auth/session")
	var v map[string]any
	if err := json.Unmarshal([]byte(a.Text), &v); err != nil {
		b.T.Fatalf("session: %d %s", a.StatusCode, a.Text)
	}
	return v
}

// Email returns the address of the signed-in user, or "".
func (b *Browser) Email() string {
	b.T.Helper()
	user, _ := b.Session()["user"].(map[string]any)
	s, _ := user["email"].(string)
	return s
}

// Begin starts a sign-in at a provider and returns the authorization URL.
func (b *Browser) Begin(provider string, fields ...string) string {
	b.T.Helper()
	a := b.Post("/api/auth/signin/"+provider, fields...)
	if a.StatusCode != http.StatusFound {
		b.T.Fatalf("signin/%s: %d %s", provider, a.StatusCode, a.Text)
	}
	return a.Location()
}

// Approve gives a person's consent and returns the callback URL.
func (b *Browser) Approve(op *idp.Server, authorizationURL, sub string) string {
	b.T.Helper()
	var a idp.Answer
	var err error
	skewed.At(0, func() { a, err = op.Approve(authorizationURL, sub) })
	if err != nil {
		b.T.Fatalf("approve %s: %v", authorizationURL, err)
	}
	return a.URL()
}

// SignIn runs the whole flow at "op" as the person sub.
func (b *Browser) SignIn(op *idp.Server, sub string, fields ...string) *browser.Answer {
	b.T.Helper()
	return b.Get(b.Approve(op, b.Begin("op", fields...), sub))
}

// SignInByMail asks for a link and opens it in the same browser.
func (b *Browser) SignInByMail(w *World, address string) *browser.Answer {
	b.T.Helper()
	if a := b.Post("/api/auth/signin/email", "email", address); !strings.Contains(a.Location(), "/verify-request") {
		b.T.Fatalf("signin/email: %d %s %s", a.StatusCode, a.Location(), a.Text)
	}
	return b.Get(Link(b.T, w.Mail.Next(b.T)))
}

// Login signs in with credentials.
func (b *Browser) Login(name string, fields ...string) *browser.Answer {
	b.T.Helper()
	return b.Post("/api/auth/callback/credentials", append([]string{"username", name, "password", "right"}, fields...)...)
}

// SessionCookies returns the names of the session cookie and its chunks in the jar.
func (b *Browser) SessionCookies() []string {
	var names []string
	for name := range b.Cookies {
		if strings.Contains(name, "session") {
			names = append(names, name)
		}
	}
	return names
}
