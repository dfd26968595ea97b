package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/seal"
	"authsvc/internal/test/arena"
)

// proof returns how a session began as one text: amr, acr, and any second step or actor.
func proof(s *authsvc.Session) string {
	text := fmt.Sprintf("%v %v", s.AMR(), s.ACR())
	if !s.SecondAt().IsZero() || s.Actor() != "" {
		text += fmt.Sprintf(", a second step, by %q", s.Actor())
	}
	return text
}

// TestAMR: a session tells programs and callbacks by which methods it began, but not in
// GET session.
func TestAMR(t *testing.T) {
	t.Parallel()
	everyMode(t, func(t *testing.T, mode authsvc.Compat, strategy authsvc.Strategy) {
		w := arena.Start(t, func(c *authsvc.Config) { c.Compat, c.Session.Strategy = mode, strategy })
		shown := arena.Start(t, func(c *authsvc.Config) {
			c.Compat, c.Session.Strategy = mode, strategy
			c.Callbacks.Session = func(_ context.Context, p authsvc.SessionParams) (map[string]any, error) {
				p.Session["amr"], p.Session["acr"] = p.AMR, p.ACR
				return p.Session, nil
			}
		})
		for want, signIn := range map[string]func(*arena.World, *arena.Browser){
			"[fed] 1fa":   func(w *arena.World, b *arena.Browser) { b.SignIn(w.OP, "ada") },
			"[email] 1fa": func(w *arena.World, b *arena.Browser) { b.SignInByMail(w, "link@app.test") },
		} {
			b, other := w.Browser(), shown.Browser()
			signIn(w, b)
			signIn(shown, other)
			if got := proof(sessionOf(t, w, b)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			if body := b.Session(); body["amr"] != nil || body["acr"] != nil || len(body) != 2 {
				t.Errorf("GET session: %v", body)
			}
			if body := other.Session(); fmt.Sprintf("%v %v", body["amr"], body["acr"]) != want {
				t.Errorf("GET session with the callback: %v", body)
			}
		}
	})
}

// TestAMRWithoutStorage: the token alone keeps the methods, also for the application's
// own credentials and after the token is reissued.
func TestAMRWithoutStorage(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) {
		c.Adapter, c.Providers = nil, slices.DeleteFunc(c.Providers, func(p authsvc.Provider) bool { _, mails := p.(*authsvc.Email); return mails })
		c.Session.UpdateAge = time.Nanosecond
	})
	b := w.Browser()
	b.Login("ada")
	before := b.Cookies[w.SessionCookie()]
	b.Session()
	if b.Cookies[w.SessionCookie()] == before {
		t.Fatal("not issued again")
	}
	if got := proof(sessionOf(t, w, b)); got != "[app] 1fa" {
		t.Error(got)
	}
}

// TestAMRIsTheEngines: neither a JWT callback nor a claim with one of these names makes
// a second factor.
func TestAMRIsTheEngines(t *testing.T) {
	t.Parallel()
	merge := func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
		p.Claims["amr"], p.Claims["acr"], p.Claims["second_at"], p.Claims["act"] = []string{"mfa"}, "2fa", time.Now().Unix(), map[string]any{"sub": "support"}
		return p.Claims, nil
	}
	t.Run("at the sign-in and later", func(t *testing.T) {
		t.Parallel()
		w := arena.Start(t, func(c *authsvc.Config) { c.Session.Strategy, c.Callbacks.JWT = "jwt", merge })
		b := w.Browser()
		b.SignIn(w.OP, "ada")
		b.Raw("/api/auth/session", "application/json", `{"csrfToken":"`+b.CSRF()+`","data":{}}`)
		if got := proof(sessionOf(t, w, b)); got != "[fed] 1fa" {
			t.Error(got)
		}
	})
	for _, own := range []map[string]any{{}, {"amr": []string{"mfa"}}, {"amr": []string{"mfa"}, "acr": "silver"}, {"amr": "mfa", "acr": 2},
		{"amr": "mfa", "acr": 2, "second_at": time.Now().Unix(), "act": "support"}, {"second_at": "yesterday", "act": []string{"support"}}} {
		t.Run(fmt.Sprint("a token from before, ", own), func(t *testing.T) {
			t.Parallel()
			ring, err := seal.NewRing(arena.Secret)
			if err != nil {
				t.Fatal(err)
			}
			now := time.Now().Unix()
			claims := map[string]any{"name": "Ada", "email": "ada@app.test", "sub": "ada", "iat": now, "exp": now + 3600, "jti": "j", "sid": "s", "provider": "op", "auth_time": now, "authsvc_epoch": 0}
			for name, v := range own {
				claims[name] = v
			}
			raw, err := json.Marshal(claims)
			if err != nil {
				t.Fatal(err)
			}
			token, err := ring.NextAuthV4("").Seal(raw)
			if err != nil {
				t.Fatal(err)
			}
			w := replica(t, memory.New(), func(c *authsvc.Config) { passwords(c); c.Compat, c.Callbacks.JWT = authsvc.NextAuthV4, merge })
			t.Cleanup(func() { end(w, t) })
			b := w.Browser()
			b.Cookies[w.SessionCookie()] = token
			b.Raw("/api/auth/session", "application/json", `{"csrfToken":"`+b.CSRF()+`","data":{}}`)
			if got := sessionOf(t, w, b); proof(got) != "[] " || got.Provider != "op" {
				t.Errorf("%s by %s", proof(got), got.Provider)
			}
		})
	}
}

// TestAMRAtOtherHosts: the methods follow the session to the hosts it is handed over
// to.
func TestAMRAtOtherHosts(t *testing.T) {
	t.Parallel()
	strategies(t, manyHosts, func(t *testing.T, w *arena.World) {
		w.T = t
		p := newRoamer(w)
		p.SignIn(wiki + "/dash")
		r := httptest.NewRequest("GET", wiki+"/dash", nil)
		r.AddCookie(&http.Cookie{Name: gateName, Value: p.At(wiki).Cookies[gateName]})
		s, err := w.Session(r)
		if err != nil || s == nil {
			t.Fatalf("%v, %v", s, err)
		}
		if got := proof(s); got != "[fed] 1fa" {
			t.Error(got)
		}
	})
}
