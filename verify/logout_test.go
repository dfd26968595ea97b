package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

var logoutChecks = checks{
	"01": {title: "return from the provider's sign-out (rp-init-logout, -other-state, -no-state)", run: logout01},
	"02": {title: "the ID token at the provider's sign-out: by POST, or without personal claims; not logged", run: logout02},
	"03": {title: "forged logout token (rp-backchannel-rpinitlogout-alg-none, -wrong-alg, -wrong-iss, -wrong-aud, -no-event, -wrong-event, -with-nonce)", run: logout03},
	"04": {title: "valid logout token (rp-backchannel-rpinitlogout)", run: logout04},
	"05": {title: "flood of logout tokens", run: logout05},
	"06": {title: "front-channel logout", not: "not offered: browsers block third-party cookies, on which it depends"},
}

// logoutWorld returns a world where signing out also ends the provider's session.
func logoutWorld(t *T, tune func(*authsvc.Config)) *arena.World {
	t.Helper()
	w := t.Enter(func(c *authsvc.Config) {
		oidcProvider(c).LogoutAtProvider = true
		if tune != nil {
			tune(c)
		}
	})
	w.OP.SetFault(idp.Fault{Discovery: func(m map[string]any) { m["end_session_endpoint"] = w.OP.Issuer() + "/end" }})
	return w
}

// logoutLeave signs in and out, and returns the data sent to the provider.
func logoutLeave(t *T, w *arena.World, b *arena.Browser, callbackURL string) url.Values {
	t.Helper()
	b.SignIn(w.OP, "ada")
	l := b.Leave(b.Post("/api/auth/signout", "callbackUrl", callbackURL).Location())
	if l.To.Path != "/end" || !strings.HasPrefix(l.To.String(), w.OP.Issuer()+"/") {
		t.Fatalf("%+v\n%s", l, w.Logs)
	}
	return l.Sent
}

func logout01(t *T) {
	w := logoutWorld(t, nil)
	foreign := logoutLeave(t, w, w.Browser(), "/bye").Get("state")
	for name, change := range map[string]func(b *arena.Browser, q url.Values){
		"none":         func(_ *arena.Browser, q url.Values) { q.Del("state") },
		"empty":        func(_ *arena.Browser, q url.Values) { q.Set("state", "") },
		"twice":        func(_ *arena.Browser, q url.Values) { q.Add("state", q.Get("state")) },
		"of another":   func(_ *arena.Browser, q url.Values) { q.Set("state", foreign) },
		"one bit":      func(_ *arena.Browser, q url.Values) { s := q.Get("state"); q.Set("state", flip(s, len(s)-2)) },
		"other target": func(_ *arena.Browser, q url.Values) { q.Set("state", "x"); q.Set("callbackUrl", "https://evil.test/") },
		"no cookie": func(b *arena.Browser, _ url.Values) {
			maps.DeleteFunc(b.Cookies, func(name, _ string) bool { return strings.Contains(name, ".tx.") })
		},
		"other CSRF token": func(b *arena.Browser, _ url.Values) { delete(b.Cookies, w.CSRFCookie()) },
		"of a sign-in": func(b *arena.Browser, q url.Values) {
			q.Set("state", arena.MustURL(t, b.Begin("op")).Query().Get("state"))
		},
	} {
		b := w.Browser()
		q := url.Values{"state": {logoutLeave(t, w, b, "/bye").Get("state")}}
		change(b, q)
		if a := b.Get("/api/auth/signout/return?" + q.Encode()); a.StatusCode != http.StatusFound || a.Location() != arena.Origin {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Location())
		}
	}
	for target, want := range map[string]string{"/bye?x=1": arena.Origin + "/bye?x=1", "https://evil.test/": arena.Origin, "//evil.test": arena.Origin, "javascript:alert(1)": arena.Origin} {
		b := w.Browser()
		q := logoutLeave(t, w, b, target)
		if q.Get("post_logout_redirect_uri") != arena.Origin+"/api/auth/signout/return" || q.Get("client_id") != "app" || b.Email() != "" {
			t.Errorf("%s: at the provider with %v", target, q)
		}
		back := "/api/auth/signout/return?callbackUrl=https://evil.test/&state=" + url.QueryEscape(q.Get("state"))
		if a := b.Get(back); a.Location() != want {
			t.Errorf("twin %s: %s", target, a.Location())
		}
		if a := b.Get(back); a.Location() != arena.Origin {
			t.Errorf("a second return of %s: %s", target, a.Location())
		}
	}
	logoutOddReturns(t, w)
}

// logoutOddReturns checks that a prefetch does not consume the state of a sign-out,
// that this state does not sign in, and that a return does not end a session that
// began meanwhile.
func logoutOddReturns(t *T, w *arena.World) {
	b := w.Browser()
	back := "/api/auth/signout/return?state=" + logoutLeave(t, w, b, "/bye").Get("state")
	r := httptest.NewRequest(http.MethodGet, b.Abs(back), nil)
	r.Header.Set("Sec-Purpose", "prefetch")
	b.Do(r)
	if a := b.Get(back); a.Location() != arena.Origin+"/bye" {
		t.Errorf("after a prefetch: %s", a.Location())
	}
	b = w.Browser()
	state := logoutLeave(t, w, b, "/bye").Get("state")
	u := arena.MustURL(t, b.Approve(w.OP, b.Begin("op"), "ada"))
	q := u.Query()
	q.Set("state", state)
	u.RawQuery = q.Encode()
	w.MustRefuse(t, func() *browser.Answer { return b.Get(u.String()) })
	b = w.Browser()
	state = logoutLeave(t, w, b, "/bye").Get("state")
	b.SignIn(w.OP, "grace")
	if a := b.Get("/api/auth/signout/return?state=" + state); a.Location() != arena.Origin+"/bye" || b.Email() != "grace@example.com" {
		t.Errorf("signed in again meanwhile: %s, %q", a.Location(), b.Email())
	}
}

const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

var logoutNumber atomic.Int64

// logoutClaims returns the claims of a valid logout token for ada, changed by pairs
// of names and values; nil removes a claim.
func logoutClaims(w *arena.World, pairs ...any) map[string]any {
	now := time.Now()
	claims := map[string]any{"iss": w.OP.Issuer(), "aud": "app", "sub": "ada", "iat": now.Unix(), "exp": now.Add(2 * time.Minute).Unix(),
		"jti": fmt.Sprint("jti-", logoutNumber.Add(1)), "events": map[string]any{logoutEvent: map[string]any{}}}
	oidcClaim(pairs...).IDToken(claims)
	return claims
}

func logoutToken(w *arena.World, pairs ...any) string {
	return oidcMade(w.OP.Sign("logout+jwt", logoutClaims(w, pairs...)))
}

// logoutTell sends logout tokens as the provider's server does: no cookies, no
// origin.
func logoutTell(t *T, w *arena.World, provider string, tokens ...string) *browser.Answer {
	t.Helper()
	a := w.Browser().Form("/api/auth/backchannel-logout/"+provider, url.Values{"logout_token": tokens})
	if !strings.Contains(a.Header.Get("Cache-Control"), "no-store") || len(a.Cookies()) > 0 {
		t.Errorf("headers %v", a.Header)
	}
	return a
}

// logoutForged returns logout tokens that must be refused.
func logoutForged(w *arena.World) map[string]string {
	signed := func(typ string, pairs ...any) string { return oidcMade(w.OP.Sign(typ, logoutClaims(w, pairs...))) }
	by := func(alg string, key any) string {
		return oidcSign(map[string]any{"typ": "logout+jwt", "alg": alg}, logoutClaims(w), key)
	}
	good := logoutToken(w)
	now := time.Now()
	return map[string]string{
		"no token": "", "garbage": "a.b.c", "alg none": by("none", nil), "alg nOnE": by("nOnE", nil), "empty signature": by("ES256", nil),
		"HS256 with the client secret": by("HS256", []byte(arena.ClientSecret)), "another key": by("ES256", oidcES256()), "RS256": by("RS256", oidcRSA()),
		"one bit": flip(good, len(good)-10), "other audience": logoutToken(w, "aud", "other"), "no audience": logoutToken(w, "aud", nil),
		"audiences without azp": logoutToken(w, "aud", []string{"app", "other"}), "other issuer": logoutToken(w, "iss", "https://evil.test"), "no issuer": logoutToken(w, "iss", nil),
		"issuer with slash": logoutToken(w, "iss", w.OP.Issuer()+"/"), "expired": logoutToken(w, "exp", now.Add(-61*time.Second).Unix()), "no exp": logoutToken(w, "exp", nil),
		"no iat": logoutToken(w, "iat", nil), "old iat": logoutToken(w, "iat", now.Add(-25*time.Hour).Unix()), "iat in the future": logoutToken(w, "iat", now.Add(time.Hour).Unix()),
		"nonce": logoutToken(w, "nonce", "n"), "empty nonce": logoutToken(w, "nonce", ""), "no jti": logoutToken(w, "jti", nil), "jti number": logoutToken(w, "jti", 7),
		"no events": logoutToken(w, "events", nil), "other event": logoutToken(w, "events", map[string]any{"http://schemas.openid.net/event/x": map[string]any{}}),
		"event is text": logoutToken(w, "events", logoutEvent), "event is true": logoutToken(w, "events", map[string]any{logoutEvent: true}), "event list": logoutToken(w, "events", []string{logoutEvent}),
		"no sub and no sid": logoutToken(w, "sub", nil), "sub number": logoutToken(w, "sub", 7), "sub empty": logoutToken(w, "sub", ""),
		"sid only": logoutToken(w, "sub", nil, "sid", "s"), "ID token": signed("JWT", "events", nil, "nonce", "n"), "access token": signed("at+jwt"), "typ of another": signed("secevent+jwt"),
	}
}

func logout03(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w := t.Enter(func(c *authsvc.Config) {
			c.Session.Strategy = authsvc.Strategy(strategy)
			own := *oidcProvider(c)
			own.ID, own.Fields.ID = "op2", "email"
			plain := own
			plain.ID, plain.OpenID, plain.Issuer, plain.Endpoints.UserInfo, plain.Endpoints.Authorization, plain.Endpoints.Token = "plain", false, "", own.Issuer+"/u", own.Issuer+"/a", own.Issuer+"/t"
			c.Providers = append(c.Providers, &own, &plain)
		})
		victim := w.Browser()
		victim.SignIn(w.OP, "ada")
		refused := func(name string, want int, a *browser.Answer) {
			t.Helper()
			if a.StatusCode != want || strings.Contains(a.Text, "eyJ") {
				t.Errorf("%s: %d %s", name, a.StatusCode, a.Text)
			}
			if victim.Email() != "ada@example.com" {
				t.Fatalf("%s: the session ended", name)
			}
		}
		for name, raw := range logoutForged(w) {
			w.NoEffect(t, victim, func() *browser.Answer {
				a := logoutTell(t, w, "op", raw)
				refused(name, 400, a)
				return a
			})
		}
		refused("twice", 400, logoutTell(t, w, "op", logoutToken(w), logoutToken(w)))
		refused("a provider with ids of its own", 400, logoutTell(t, w, "op2", logoutToken(w)))
		unknown := 404
		if t.Mode != modeNone {
			unknown = 400 // the answer of the compat modes
		}
		for _, id := range []string{"plain", "email", "nobody"} {
			refused(id, unknown, logoutTell(t, w, id, logoutToken(w)))
		}
		asJSON := string(oidcMade(json.Marshal(map[string]string{"logout_token": logoutToken(w)})))
		refused("JSON", 400, w.Browser().Raw("/api/auth/backchannel-logout/op", "application/json", asJSON))
		refused("text", 415, w.Browser().Raw("/api/auth/backchannel-logout/op", "text/plain", "x"))
		logoutMethods(t, w)
		good := logoutToken(w)
		if a := logoutTell(t, w, "op", good); a.StatusCode != 200 || victim.Email() != "" {
			t.Errorf("twin: %d, %q\n%s", a.StatusCode, victim.Email(), w.Logs)
		}
		time.Sleep(2 * time.Millisecond)
		victim.SignIn(w.OP, "ada")
		refused("jti again", 400, logoutTell(t, w, "op", good))
		if strings.Contains(w.Logs.String(), "eyJ") {
			t.Error("a token is in the log")
		}
	})
}

func logoutMethods(t *T, w *arena.World) {
	for _, method := range []string{"GET", "HEAD", "PUT"} {
		b := w.Browser()
		a := b.Do(httptest.NewRequest(method, b.Abs("/api/auth/backchannel-logout/op?logout_token="+logoutToken(w)), nil))
		if a.StatusCode < 400 || a.StatusCode > 405 {
			t.Errorf("%s: %d", method, a.StatusCode)
		}
	}
}

func logout04(t *T) {
	t.Strategies(func(t *T, strategy string) {
		for name, c := range map[string]struct {
			typ   string
			pairs []any
		}{"sub only": {"logout+jwt", nil}, "sub and sid": {"logout+jwt", []any{"sid", "any"}}, "typ of older servers": {"JWT", nil}, "audience list": {"logout+jwt", []any{"aud", []string{"app"}}}} {
			oidcBubble(t, func(t *T) {
				var told atomic.Int64
				w := oidcOffline(t, func(c *authsvc.Config) {
					c.Session.Strategy = authsvc.Strategy(strategy)
					c.Events.SignOut = func(context.Context, authsvc.SignOutEvent) { told.Add(1) }
				})
				second, err := engine.New(w.Config)
				if err != nil {
					t.Fatal(err)
				}
				defer second.Close(context.WithoutCancel(t.Context()))
				one, two, grace, mail := w.Browser(), w.Browser(), w.Browser(), w.Browser()
				two.H = second
				one.SignIn(w.OP, "ada")
				two.SignIn(w.OP, "ada")
				grace.SignIn(w.OP, "grace")
				mail.SignInByMail(w, "ada@example.com")
				kept := one.Clone()
				kept.H = second
				raw := oidcMade(w.OP.Sign(c.typ, logoutClaims(w, c.pairs...)))
				if a := logoutTell(t, w, "op", raw); a.StatusCode != 200 || a.Text != "" {
					t.Fatalf("%s: %d %s\n%s", name, a.StatusCode, a.Text, w.Logs)
				}
				if one.Email() != "" {
					t.Errorf("%s: still signed in", name)
				}
				if n := told.Load(); strategy == "database" && n != 2 {
					t.Errorf("%s: %d sign-outs were reported", name, n)
				}
				time.Sleep(3 * time.Second) // replicas learn of it within two seconds
				if two.Email()+kept.Email() != "" {
					t.Errorf("%s: another replica: %q, %q", name, two.Email(), kept.Email())
				}
				if grace.Email() != "grace@example.com" || mail.Email() != "ada@example.com" {
					t.Errorf("%s: another user: %q; by mail: %q", name, grace.Email(), mail.Email())
				}
				one.SignIn(w.OP, "ada")
				if a := logoutTell(t, w, "op", raw); a.StatusCode != 400 || one.Email() != "ada@example.com" {
					t.Errorf("%s: a replay ends a later session: %d", name, a.StatusCode)
				}
				if a := logoutTell(t, w, "op", logoutToken(w, "sub", "alan")); a.StatusCode != 200 {
					t.Errorf("%s: a person without an account: %d", name, a.StatusCode)
				}
			})
		}
	})
}

func logout05(t *T) {
	n := t.Scale("bad logout tokens in a second", 400, 1000, 1000)
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, func(c *authsvc.Config) { c.RateLimit.Disabled = false })
		victim := w.Browser()
		victim.SignIn(w.OP, "ada")
		before := w.OP.Calls(idp.EndpointJWKS)
		tokens := make([]string, n)
		for i := range tokens {
			tokens[i] = oidcSign(map[string]any{"typ": "logout+jwt", "alg": "ES256", "kid": fmt.Sprint("k", i)}, logoutClaims(w), oidcES256())
		}
		var judged, limited atomic.Int64
		together(n, func(i int) {
			b := w.Browser()
			switch a := b.Form("/api/auth/backchannel-logout/op", url.Values{"logout_token": {tokens[i]}}); {
			case a.StatusCode == 400:
				judged.Add(1)
			case a.StatusCode == 429 && a.Header.Get("Retry-After") != "":
				limited.Add(1)
			default:
				t.Errorf("%d %s", a.StatusCode, a.Text)
			}
		})
		if judged.Load() > 310 || limited.Load() != int64(n)-judged.Load() {
			t.Errorf("%d judged, %d limited", judged.Load(), limited.Load())
		}
		if got := w.OP.Calls(idp.EndpointJWKS) - before; got > 1 {
			t.Errorf("%d fetches of keys", got)
		}
		if victim.Email() != "ada@example.com" {
			t.Error("the flood ended a session")
		}
		oidcAccepted(t, w, "sign-ins continue", idp.Fault{})
		b := w.Browser()
		b.IP = "198.51.100.9:1" // the provider at its own address does not share their limit
		if a := b.Form("/api/auth/backchannel-logout/op", url.Values{"logout_token": {logoutToken(w)}}); a.StatusCode != 200 || victim.Email() != "" {
			t.Errorf("twin: %d %s", a.StatusCode, a.Text)
		}
	})
}
