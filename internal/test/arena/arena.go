// Package arena sets up a service to attack in tests: with an identity provider, a
// mailbox, a store and browsers, and with oracles that check whether an attack had
// an effect.
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
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/logbuffer"
	"authsvc/internal/test/skewed"
)

const (
	Secret = "qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"
	Origin = "https://app.test"

	// ClientSecret is known to be in no log and no page.
	ClientSecret = "op-client-secret-8f3kd9s0"

	// SessionName is the session cookie over https outside of compat modes.
	SessionName = "__Host-authsvc.session"
)

// A World is a service with everything around it.
type World struct {
	*engine.Service
	T      testing.TB
	OP     *idp.Server // nil where there is no network
	Mail   *Outbox
	Store  authsvc.Adapter
	Ledger *Ledger       // in front of Store, of Enter and EnterOffline
	Audits *atomic.Int64 // audit events so far, of Enter and EnterOffline
	Logs   *LogBuffer
	Config authsvc.Config

	logger   *slog.Logger  // into Logs
	skew     time.Duration // of the clock of Service
	replicas int           // beside Service
}

// Start runs a service with an OpenID provider "op", e-mail "email" and
// credentials "credentials", where ada has the password right, on a memory
// store, changed by tune.
func Start(t testing.TB, tune func(*authsvc.Config)) *World {
	t.Helper()
	w := newOnline(t)
	w.run(tune)
	return w
}

// Enter is Start with rate limits off and with effects and audit events counted.
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
	skewed.At(0, func() { // it is another machine's
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

// EnterOffline is Enter without a network, for synctest bubbles: mail and
// credentials only. Any user name but "nobody" passes with password right;
// users ada-id and bob-id are there.
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
		if _, err := w.Store.CreateUser(t.Context(), u); err != nil {
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

// count puts a ledger in front of the store and counts audit events. A tune
// that sets another adapter gets the ledger in front of that one.
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
	w.T.Cleanup(func() { // the test's own time limit is the end of its patience
		if err := w.Close(context.Background()); err != nil {
			w.T.Error(err)
		}
	})
}

// Authorize lets everybody but nobody in with the password right.
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

// RedirectURIs are the callbacks of the providers that tests have.
func RedirectURIs() []string {
	var list []string
	for _, base := range []string{Origin, "http://localhost:3000", "https://app.example.com"} {
		for _, id := range []string{"op", "op2", "plain", "apple", "old"} {
			list = append(list, base+"/api/auth/callback/"+id)
		}
	}
	return list
}

// SessionCookie is the name of the session cookie of this world.
func (w *World) SessionCookie() string {
	return w.cookie(map[authsvc.Compat]string{"next-auth-v4": "next-auth.session-token", "authjs-v5": "authjs.session-token"}, "authsvc.session", "__Secure-")
}

// CSRFCookie is the name of the CSRF cookie of this world.
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

// Person is who a browser is, by the engine's own reading; "" is nobody.
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

// A LogBuffer collects what the service logs.
type LogBuffer = logbuffer.Buffer
