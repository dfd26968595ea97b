package authsvc_test

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/idp"
)

// The tests in attack_*_test.go are attacks. Each subtest has an id; what is
// refused there passes without the attack in the same test, for a service that
// refuses everything would pass otherwise.

// An arena is a world in which effects and audit events are counted.
type arena struct {
	*world
	led    *ledger
	audits *atomic.Int64
}

// enter starts an arena with the identity provider of the harness.
func enter(t *testing.T, tune func(*authsvc.Config)) *arena {
	t.Helper()
	a := &arena{led: newLedger(memory.New()), audits: &atomic.Int64{}}
	a.world = start(t, func(c *authsvc.Config) { a.tune(c, tune) })
	return a
}

func (a *arena) tune(c *authsvc.Config, more func(*authsvc.Config)) {
	c.Adapter = a.led
	c.RateLimit.Disabled = true
	c.Events.Audit = func(context.Context, authsvc.AuditEvent) { a.audits.Add(1) }
	if more != nil {
		more(c)
	}
}

// enterOffline starts an arena without a network, for synctest bubbles: mail
// and credentials only. Any user name but "nobody" passes with password right.
func enterOffline(t *testing.T, tune func(*authsvc.Config)) *arena {
	t.Helper()
	a := &arena{led: newLedger(memory.New()), audits: &atomic.Int64{}}
	w := &world{t: t, mail: newOutbox(), logs: &logBuffer{}, store: a.led}
	a.world = w
	w.config = authsvc.Config{
		URL: origin, Secrets: []string{testSecret},
		Logger: slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
		Providers: []authsvc.Provider{
			&authsvc.Email{From: "Acme <no-reply@app.test>", Send: w.mail.send},
			&authsvc.Credentials{Authorize: authorize},
		},
	}
	a.tune(&w.config, tune)
	var err error
	if w.Service, err = authsvc.New(w.config); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, name := range []string{"ada", "bob"} {
		u := authsvc.User{ID: name + "-id", Name: name, Email: name + "@app.test", EmailVerified: time.Now()}
		if _, err := a.led.CreateUser(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

func authorize(_ context.Context, f map[string]string) (authsvc.User, error) {
	if f["username"] == "nobody" || f["password"] != "right" {
		return authsvc.User{}, authsvc.ErrAccessDenied
	}
	return authsvc.User{ID: f["username"] + "-id", Name: f["username"], Email: f["username"] + "@app.test"}, nil
}

// login signs in with credentials.
func (b *browser) login(name string, fields ...string) *answer {
	b.t.Helper()
	return b.post("/api/auth/callback/credentials", append([]string{"username", name, "password", "right"}, fields...)...)
}

// clone is another client with the same jar.
func (b *browser) clone() *browser {
	c := *b
	c.cookies, c.header = maps.Clone(b.cookies), b.header.Clone()
	return &c
}

// form is a POST that leaves the CSRF token to the caller.
func (b *browser) form(path string, fields url.Values, header ...string) *answer {
	b.t.Helper()
	r := httptest.NewRequest(http.MethodPost, b.abs(path), strings.NewReader(fields.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return b.do(r)
}

const sessionName = "__Host-authsvc.session"

// isRefusal: 4xx, or a redirect to a page that says why with a fixed word.
func isRefusal(a *answer) bool {
	if a.StatusCode >= 400 && a.StatusCode < 500 {
		return true
	}
	to := a.location()
	return a.StatusCode == http.StatusFound &&
		(strings.Contains(to, "/api/auth/error?error=") || strings.HasSuffix(to, "?csrf=true"))
}

// mustRefuse is the oracle of every attack: the answer is a refusal, sets no
// session, calls no token endpoint, changes nothing that lasts,
// and is one audit event unless the request itself was malformed.
func (w *arena) mustRefuse(t *testing.T, attack func() *answer) *answer {
	t.Helper()
	return w.refuse(t, attack)
}

func (w *arena) refuse(t *testing.T, attack func() *answer) *answer {
	t.Helper()
	effects, audits, calls := w.led.lasting(), w.audits.Load(), w.tokenCalls()
	a := attack()
	if !isRefusal(a) {
		t.Errorf("not refused: %d %s %.200s", a.StatusCode, a.location(), a.body)
	}
	for _, c := range a.Cookies() {
		if strings.Contains(c.Name, "session") && c.Value != "" {
			t.Errorf("a refusal sets %s", c.Name)
		}
	}
	if now := w.led.lasting(); now != effects {
		t.Errorf("a refusal has effects: %s", strings.TrimPrefix(now, effects))
	}
	if got := w.tokenCalls() - calls; got != 0 {
		t.Errorf("%d token calls", got)
	}
	malformed := map[int]bool{400: true, 404: true, 405: true, 413: true, 415: true}
	if got := w.audits.Load() - audits; got < 1 && !malformed[a.StatusCode] {
		t.Errorf("%d audit events of a refusal", got)
	}
	return a
}

func (w *world) tokenCalls() int {
	if w.op == nil {
		return 0
	}
	return w.op.Calls(idp.EndpointToken)
}

// person is who a browser is, by the engine's own reading; "" is nobody.
func (w *world) person(t *testing.T, b *browser) string {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, origin+"/", nil)
	for name, v := range b.cookies {
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
