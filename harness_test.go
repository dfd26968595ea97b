package authsvc_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/idp"
)

const (
	testSecret = "qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"
	origin     = "https://app.test"
)

// outbox collects what an e-mail provider sends.
type outbox struct {
	mu   sync.Mutex
	sent []authsvc.Message
	read int // by next
	more chan struct{}
}

func newOutbox() *outbox { return &outbox{more: make(chan struct{}, 1000)} }

func (o *outbox) send(_ context.Context, m authsvc.Message) error {
	o.mu.Lock()
	o.sent = append(o.sent, m)
	o.mu.Unlock()
	o.more <- struct{}{}
	return nil
}

func (o *outbox) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.sent)
}

// next waits for the next mail, in the order of delivery.
func (o *outbox) next(t testing.TB) authsvc.Message {
	t.Helper()
	select {
	case <-o.more:
	case <-time.After(10 * time.Second):
		t.Fatal("no mail came")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.read++
	return o.sent[o.read-1]
}

// link is the sign-in link of a mail.
func link(t testing.TB, m authsvc.Message) string {
	t.Helper()
	for line := range strings.Lines(m.Text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "http") {
			return line
		}
	}
	t.Fatalf("no link in %q", m.Text)
	return ""
}

// world is a service with everything around it.
type world struct {
	*authsvc.Service
	t      *testing.T
	op     *idp.Server
	mail   *outbox
	store  authsvc.Adapter
	logs   *logBuffer
	config authsvc.Config
}

type logBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// clientSecret is known to be in no log and no page.
const clientSecret = "op-client-secret-8f3kd9s0"

// start runs a service with an OpenID provider "op", e-mail "email" and
// credentials "credentials", on a memory store, changed by tune.
func start(t *testing.T, tune func(*authsvc.Config)) *world {
	t.Helper()
	op, err := idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: clientSecret, RedirectURIs: redirectURIs()}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	w := &world{t: t, op: op, mail: newOutbox(), logs: &logBuffer{}}
	w.config = authsvc.Config{
		URL: origin, Secrets: []string{testSecret}, Adapter: memory.New(),
		Logger: slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Providers: []authsvc.Provider{
			&authsvc.OAuth{ID: "op", Name: "Example", OpenID: true, Issuer: op.Issuer(), Client: authsvc.Client{ID: "app", Secret: clientSecret}},
			&authsvc.Email{From: "Acme <no-reply@app.test>", Send: w.mail.send},
			&authsvc.Credentials{Authorize: func(_ context.Context, f map[string]string) (authsvc.User, error) {
				if f["username"] == "ada" && f["password"] == "right" {
					return authsvc.User{ID: "ada-id", Name: "Ada", Email: "ada@app.test"}, nil
				}
				return authsvc.User{}, authsvc.ErrAccessDenied
			}},
		},
	}
	if tune != nil {
		tune(&w.config)
	}
	w.store = w.config.Adapter
	w.Service, err = authsvc.New(w.config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := w.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return w
}

func redirectURIs() []string {
	var list []string
	for _, base := range []string{origin, "http://localhost:3000"} {
		for _, id := range []string{"op", "op2", "plain", "apple", "old"} {
			list = append(list, base+"/api/auth/callback/"+id)
		}
	}
	return list
}

// browser keeps cookies as a browser of one origin does.
type browser struct {
	t       testing.TB
	h       http.Handler
	origin  string
	cookies map[string]string
	header  http.Header // added to every request
	ip      string
}

func (w *world) browser() *browser {
	o := w.config.URL
	if u, err := url.Parse(o); err == nil {
		o = u.Scheme + "://" + u.Host
	}
	return &browser{t: w.t, h: w, origin: o, cookies: map[string]string{}, header: http.Header{}, ip: "203.0.113.7:4711"}
}

// answer is a response with its body read.
type answer struct {
	*http.Response
	body string
}

func (a *answer) location() string { return a.Header.Get("Location") }

func (a *answer) url(t testing.TB) string {
	t.Helper()
	var v struct {
		URL string `json:"url"`
	}
	if err := json.Unmarshal([]byte(a.body), &v); err != nil || v.URL == "" {
		t.Fatalf("no url in %d %q", a.StatusCode, a.body)
	}
	return v.URL
}

func (b *browser) do(r *http.Request) *answer {
	b.t.Helper()
	r.RemoteAddr = b.ip
	for name, v := range b.header {
		r.Header[name] = v
	}
	for name, v := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: v})
	}
	rec := httptest.NewRecorder()
	b.h.ServeHTTP(rec, r)
	res := rec.Result()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 || c.Value == "" {
			delete(b.cookies, c.Name)
		} else {
			b.cookies[c.Name] = c.Value
		}
	}
	return &answer{res, string(body)}
}

func (b *browser) abs(path string) string {
	if strings.HasPrefix(path, "/") {
		return b.origin + path
	}
	return path
}

func (b *browser) get(path string) *answer {
	b.t.Helper()
	return b.do(httptest.NewRequest(http.MethodGet, b.abs(path), nil))
}

// post sends a form, with the CSRF token unless the form names one.
func (b *browser) post(path string, fields ...string) *answer {
	b.t.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	if !form.Has("csrfToken") {
		form.Set("csrfToken", b.csrf())
	}
	r := httptest.NewRequest(http.MethodPost, b.abs(path), strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return b.do(r)
}

func (b *browser) csrf() string {
	b.t.Helper()
	var v struct{ CSRFToken string }
	a := b.get("/api/auth/csrf")
	if err := json.Unmarshal([]byte(a.body), &v); err != nil || v.CSRFToken == "" {
		b.t.Fatalf("no csrf token: %d %s", a.StatusCode, a.body)
	}
	return v.CSRFToken
}

// session returns the object of GET session.
func (b *browser) session() map[string]any {
	b.t.Helper()
	a := b.get("/api/auth/session")
	var v map[string]any
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		b.t.Fatalf("session: %d %s", a.StatusCode, a.body)
	}
	return v
}

func (b *browser) email() string {
	b.t.Helper()
	user, _ := b.session()["user"].(map[string]any)
	s, _ := user["email"].(string)
	return s
}

// begin starts a sign-in at a provider and returns the authorization URL.
func (b *browser) begin(provider string, fields ...string) string {
	b.t.Helper()
	a := b.post("/api/auth/signin/"+provider, fields...)
	if a.StatusCode != http.StatusFound {
		b.t.Fatalf("signin/%s: %d %s", provider, a.StatusCode, a.body)
	}
	return a.location()
}

// approve lets a person consent and returns the callback URL.
func (b *browser) approve(op *idp.Server, authorizationURL, sub string) string {
	b.t.Helper()
	a, err := op.Approve(authorizationURL, sub)
	if err != nil {
		b.t.Fatalf("approve %s: %v", authorizationURL, err)
	}
	return a.URL()
}

// signIn goes through the whole flow as the person sub.
func (b *browser) signIn(op *idp.Server, sub string, fields ...string) *answer {
	b.t.Helper()
	return b.get(b.approve(op, b.begin("op", fields...), sub))
}

// signInByMail asks for a link and opens it in the same browser.
func (b *browser) signInByMail(w *world, address string) *answer {
	b.t.Helper()
	if a := b.post("/api/auth/signin/email", "email", address); !strings.Contains(a.location(), "/verify-request") {
		b.t.Fatalf("signin/email: %d %s %s", a.StatusCode, a.location(), a.body)
	}
	return b.get(link(b.t, w.mail.next(b.t)))
}

func mustURL(t testing.TB, raw string) *url.URL {
	t.Helper()
	u, err := url.Parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

var both = []string{"database", "jwt"}

// short are session times that fit into a test.
func short(strategy string) func(*authsvc.Config) {
	return func(c *authsvc.Config) {
		c.Session = authsvc.SessionOptions{Strategy: strategy, MaxAge: time.Hour, UpdateAge: 10 * time.Minute, AbsoluteMaxAge: 3 * time.Hour}
	}
}
