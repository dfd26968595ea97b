package engine_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// assertingWorld is checkedWorld at two ports, with assertions.
func assertingWorld(c *authsvc.Config) {
	checkedWorld(c)
	c.Gate.Headers.Assertion = []string{"X-Auth-Assertion"}
	c.Gate.Hosts = append(c.Gate.Hosts, authsvc.GateHost{Origin: arena.Origin + ":8443"})
}

// openAssertion opens an assertion with the keys of GET jwks.
func openAssertion(t *testing.T, w *arena.World, token string) issued {
	t.Helper()
	answer := browser.Answer{Response: &http.Response{StatusCode: 200}, Text: `{"access_token":"` + token + `","token_type":"Bearer","expires_in":60}`}
	return openToken(t, w, &answer)
}

// TestAssertion checks the claims of an assertion, its audience, and how long it is
// reused.
func TestAssertion(t *testing.T) {
	t.Parallel()
	for _, strategy := range []authsvc.Strategy{"database", "jwt"} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := arena.EnterOffline(t, func(c *authsvc.Config) { assertingWorld(c); c.Session.Strategy = strategy })
				ada, again, bob := w.Browser(), w.Browser(), w.Browser()
				ada.Login("ada")
				again.Login("ada")
				bob.Login("bob")
				ask := func(b *arena.Browser, host string) string {
					return asProxy(b, "forward-auth", "GET", "/dash", "X-Forwarded-Host", "", "X-Forwarded-Host", host).Header.Get("X-Auth-Assertion")
				}
				first := ask(ada, "app.test")
				got := openAssertion(t, w, first)
				for name, want := range map[string]any{"iss": arena.Origin + "/api/auth", "aud": arena.Origin, "sub": "ada-id", "email": "ada@app.test", "email_verified": strategy == "database"} {
					if got.claims[name] != want {
						t.Errorf("%s is %v, want %v", name, got.claims[name], want)
					}
				}
				for _, name := range []string{"sid", "jti", "auth_time", "idp", "amr", "acr"} {
					if got.claims[name] == nil {
						t.Errorf("%s is missing: %v", name, got.claims)
					}
				}
				other := ask(ada, "app.test:8443")
				if claims := openAssertion(t, w, other).claims; claims["aud"] != arena.Origin+":8443" || claims["sid"] != got.claims["sid"] {
					t.Errorf("at another host: %v", claims)
				}
				if claims := openAssertion(t, w, ask(again, "app.test")).claims; claims["sub"] != "ada-id" || claims["sid"] == got.claims["sid"] {
					t.Errorf("of another session: %v", claims)
				}
				if claims := openAssertion(t, w, ask(bob, "app.test")).claims; claims["sub"] != "bob-id" {
					t.Errorf("of another user: %v", claims)
				}
				if life := got.claims["exp"].(float64) - got.claims["iat"].(float64); life != 60 || got.claims["token_use"] != "assertion" {
					t.Errorf("valid for %v s: %v", life, got.claims)
				}
				time.Sleep(29 * time.Second)
				if ask(ada, "app.test") != first {
					t.Error("created again within half of its life")
				}
				time.Sleep(2 * time.Second)
				if openAssertion(t, w, ask(ada, "app.test")).claims["jti"] == got.claims["jti"] {
					t.Error("not replaced after half of its life")
				}
				ada.Post("/api/auth/signout")
				if ask(ada, "app.test") != "" {
					t.Error("an assertion after the sign-out")
				}
			})
		})
	}
}

// TestAssertionHeader checks that the client's header does not arrive, that a request
// without a user has none, that a too long assertion is omitted, and that without a key
// there is neither header nor token.
func TestAssertionHeader(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, func(c *authsvc.Config) {
		assertingWorld(c)
		c.PersonalTokens.Enabled = true
		c.Gate.Hosts[0].Rules = append(c.Gate.Hosts[0].Rules, authsvc.GateRule{Match: "/api/", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{Tokens: true}}}})
	})
	ask := func(path string, header ...string) (int, string) {
		r := httptest.NewRequest("GET", arena.Origin+path, nil)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header[header[i]] = []string{header[i+1]}
		}
		rec := httptest.NewRecorder()
		w.Guard(http.HandlerFunc(echo)).ServeHTTP(rec, r)
		var seen map[string][]string
		if rec.Code == 200 && json.Unmarshal(rec.Body.Bytes(), &seen) != nil {
			t.Errorf("%s", rec.Body)
		}
		return rec.Code, strings.Join(append(seen["X-Auth-Assertion"], seen["X_auth_assertion"]...), "|")
	}
	if status, got := ask("/public/a", "X-Auth-Assertion", "forged", "X_auth_assertion", "forged"); status != 200 || got != "" {
		t.Errorf("no session: %d %q", status, got)
	}
	token, _ := atGate(t, w, arena.Origin)
	_, got := ask("/api/x", "Authorization", "Bearer "+token)
	if claims := openAssertion(t, w, got).claims; claims["sub"] != "ada-id" || claims["sid"] != nil || claims["auth_time"] != nil || claims["idp"] != nil || claims["amr"] != nil || claims["acr"] != nil {
		t.Errorf("by a personal access token: %v", claims)
	}
	plain := arena.EnterOffline(t, checkedWorld)
	b := plain.Browser()
	b.Login("ada")
	if a := asProxy(b, "forward-auth", "GET", "/dash"); a.StatusCode != 200 || a.Header["X-Auth-Assertion"] != nil {
		t.Errorf("without the key: %v", a.Header)
	}
	if a := plain.Browser().Get("/api/auth/jwks"); a.StatusCode != http.StatusNotFound {
		t.Errorf("without the key there are keys: %d", a.StatusCode)
	}
}

// TestIdentityTooLong checks that headers that are too long are omitted and logged
// once, and all others are there.
func TestIdentityTooLong(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int][2]bool{500: {true, true}, 1500: {false, true}, 3900: {false, false}} {
		w := arena.EnterOffline(t, func(c *authsvc.Config) {
			assertingWorld(c)
			c.Callbacks.Claims = func(context.Context, authsvc.SignInAttempt, authsvc.Claims) (authsvc.Claims, error) {
				return authsvc.Claims{"groups": strings.Repeat("g", bytes)}, nil
			}
		})
		b := w.Browser()
		b.Login("ada")
		for range 2 {
			a := asProxy(b, "forward-auth", "GET", "/dash")
			if got := [2]bool{a.Header.Get("X-Auth-Groups") != "", a.Header.Get("X-Auth-Assertion") != ""}; a.StatusCode != 200 || got != want || a.Header.Get("X-Auth-Email") != "ada@app.test" {
				t.Errorf("%d: %d %v, want %v", bytes, a.StatusCode, got, want)
			}
		}
		for i, text := range []string{"an identity header is left out", "cannot make an assertion"} {
			if n := strings.Count(w.Logs.String(), text); (n == 1) == want[i] {
				t.Errorf("%d: %q is logged %d times", bytes, text, n)
			}
		}
	}
}
