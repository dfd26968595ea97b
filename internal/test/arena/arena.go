// Package arena sets up a service for tests to attack. It comes with an identity
// provider, a mailbox, a store, browsers, and oracles that check whether an attack
// had an effect.
package arena

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/logbuffer"
	"authsvc/internal/test/skewed"
)

const (
	Secret = "qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"
	Origin = "https://app.test"

	// ClientSecret must appear in no log and on no page.
	ClientSecret = "op-client-secret-8f3kd9s0"

	// SessionName names the session cookie over https outside compat modes.
	SessionName = "__Host-authsvc.session"
)

// A World holds a service and everything around it.
type World struct {
	*engine.Service
	T      testing.TB
	OP     *idp.Server // nil without a network
	Mail   *Outbox
	Store  adapter.Adapter
	Ledger *Ledger       // in front of Store, after Enter and EnterOffline
	Audits *atomic.Int64 // audit events so far, after Enter and EnterOffline
	Logs   *LogBuffer
	Config authsvc.Config

	logger   *slog.Logger  // writes to Logs
	skew     time.Duration // of Service's clock
	replicas int           // started in addition to Service
}

// Start runs a service on a memory store, changed by tune. It has an OpenID provider
// "op", an email provider "email" and a credentials provider "credentials", where
// ada signs in with the password right.
func Start(t testing.TB, tune func(*authsvc.Config)) *World {
	t.Helper()
	w := newOnline(t)
	w.run(tune)
	return w
}

// Enter works like Start, but turns rate limits off and counts effects and audit
// events.
func Enter(t testing.TB, tune func(*authsvc.Config)) *World {
	t.Helper()
	w := newOnline(t)
	w.run(func(c *authsvc.Config) { w.count(c, tune) })
	return w
}

func newOnline(t testing.TB) *World {
	t.Helper()
	var op *idp.Server
	var err error
	skewed.At(0, func() { // the provider runs on another machine
		op, err = idp.Listen(idp.Options{Clients: []idp.Client{{ID: "app", Secret: ClientSecret, RedirectURIs: RedirectURIs()}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { op.Close() })
	w := newWorld(t)
	w.OP = op
	w.Config.Providers = []authsvc.Provider{
		&authsvc.OAuth{ID: "op", Name: "Example", OpenID: true, Issuer: op.Issuer(), Client: authsvc.Client{ID: "app", Secret: ClientSecret}},
		&authsvc.Email{From: "Acme <no-reply@app.test>", Send: w.Mail.Send},
		&authsvc.Credentials{Authorize: onlyAda},
	}
	return w
}

// EnterOffline works like Enter, but without a network, for synctest bubbles: it has
// mail and credentials only. Any user name except "nobody" signs in with the password
// right. The users ada-id and bob-id exist.
func EnterOffline(t testing.TB, tune func(*authsvc.Config)) *World {
	t.Helper()
	w := newWorld(t)
	w.Config.Providers = []authsvc.Provider{
		&authsvc.Email{From: "Acme <no-reply@app.test>", Send: w.Mail.Send},
		&authsvc.Credentials{Authorize: Authorize},
	}
	w.run(func(c *authsvc.Config) { w.count(c, tune) })
	for _, name := range []string{"ada", "bob"} {
		u := authsvc.User{ID: name + "-id", Name: name, Email: name + "@app.test", EmailVerified: time.Now()}
		if _, err := w.Store.CreateUser(t.Context(), u, nil); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func newWorld(t testing.TB) *World {
	w := &World{T: t, Mail: NewOutbox(), Logs: &LogBuffer{}, skew: skewed.Here()}
	w.logger = slog.New(slog.NewTextHandler(w.Logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	w.Config = authsvc.Config{URL: Origin, Secrets: []string{Secret}, Adapter: memory.New(), Logger: w.logger}
	return w
}

// count puts a ledger in front of the store and counts audit events. If tune sets
// another adapter, the ledger stands in front of that one.
func (w *World) count(c *authsvc.Config, tune func(*authsvc.Config)) {
	w.Audits = &atomic.Int64{}
	c.RateLimit.Disabled = true
	c.Events.Audit = func(context.Context, authsvc.AuditEvent) { w.Audits.Add(1) }
	if tune != nil {
		tune(c)
	}
	if c.Adapter == nil {
		return
	}
	switch a := c.Adapter.(type) {
	case *Ledger:
		w.Ledger = a
	case clocked:
		w.Ledger = a.Ledger
	default:
		w.Ledger = NewLedger(c.Adapter)
	}
	if c.Adapter = w.Ledger; skewed.Works() {
		c.Adapter = clocked{w.Ledger}
	}
}

func (w *World) run(tune func(*authsvc.Config)) {
	w.T.Helper()
	if tune != nil {
		tune(&w.Config)
	}
	w.Store = w.Config.Adapter
	var err error
	if w.Service, err = engine.New(w.Config); err != nil {
		w.T.Fatal(err)
	}
	w.isOff(w.T, 0)
	w.T.Cleanup(func() { // only the test's own time limit bounds it
		if err := w.Close(context.Background()); err != nil {
			w.T.Error(err)
		}
	})
}

// Authorize accepts every user name except "nobody", with the password right.
func Authorize(_ context.Context, f map[string]string) (authsvc.User, error) {
	if f["username"] == "nobody" || f["password"] != "right" {
		return authsvc.User{}, authsvc.ErrAccessDenied
	}
	return authsvc.User{ID: f["username"] + "-id", Name: f["username"], Email: f["username"] + "@app.test"}, nil
}

func onlyAda(ctx context.Context, f map[string]string) (authsvc.User, error) {
	if f["username"] != "ada" {
		return authsvc.User{}, authsvc.ErrAccessDenied
	}
	u, err := Authorize(ctx, f)
	u.Name = "Ada"
	return u, err
}

// RedirectURIs returns the callback URLs of the providers that tests use.
func RedirectURIs() []string {
	var list []string
	for _, base := range []string{Origin, "http://localhost:3000", "https://app.example.com"} {
		for _, id := range []string{"op", "op2", "plain", "apple", "old"} {
			list = append(list, base+"/api/auth/callback/"+id)
		}
	}
	return list
}

// SessionCookie returns the name of this world's session cookie.
func (w *World) SessionCookie() string {
	return w.cookie(map[authsvc.Compat]string{"next-auth-v4": "next-auth.session-token", "authjs-v5": "authjs.session-token"}, "authsvc.session", "__Secure-")
}

// CSRFCookie returns the name of this world's CSRF cookie.
func (w *World) CSRFCookie() string {
	return w.cookie(map[authsvc.Compat]string{"next-auth-v4": "next-auth.csrf-token", "authjs-v5": "authjs.csrf-token"}, "authsvc.csrf", "__Host-")
}

func (w *World) cookie(compat map[authsvc.Compat]string, own, compatPrefix string) string {
	prefix, name := "__Host-", own
	if c, ok := compat[w.Config.Compat]; ok {
		prefix, name = compatPrefix, c
	}
	if !strings.HasPrefix(w.Config.URL, "https://") {
		prefix = ""
	}
	return prefix + name
}

// TokenCalls counts the requests to the identity provider's token endpoint.
func (w *World) TokenCalls() int {
	if w.OP == nil {
		return 0
	}
	return w.OP.Calls(idp.EndpointToken)
}

// Person returns the id of the user signed in at a browser, as the engine reads it,
// or "".
func (w *World) Person(t testing.TB, b *Browser) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, b.Origin+"/", nil)
	for name, v := range b.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: v})
	}
	s, err := w.Session(r)
	if err != nil {
		t.Fatal(err)
	}
	if s == nil {
		return ""
	}
	return s.UserID
}

// A LogBuffer collects the log of the service.
type LogBuffer = logbuffer.Buffer
