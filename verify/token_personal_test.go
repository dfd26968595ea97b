package verify

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/seal/personaltoken"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// personalWorld returns a world where ada is signed in and has a personal access
// token for tokenAPI.
func personalWorld(t *T, strategy string) (w *arena.World, ada *arena.Browser, token string, made authsvc.PersonalToken) {
	t.Helper()
	w = t.Enter(func(c *authsvc.Config) {
		c.Session.Strategy = authsvc.Strategy(strategy)
		c.PersonalTokens.Enabled = true
		c.Tokens.Audiences = []authsvc.Audience{{ID: tokenAPI, Claims: []string{"email"}}, {ID: tokenOther}}
		c.Gate.Hosts = tokenHosts
	})
	ada = w.Browser()
	if ada.SignIn(w.OP, "ada"); ada.Email() == "" {
		t.Fatalf("no sign-in\n%s", w.Logs)
	}
	u, err := w.Store.GetUserByAccount(t.Context(), "op", "ada")
	if err == nil {
		token, made, err = w.CreatePersonalToken(t.Context(), u.ID, authsvc.PersonalTokenRequest{Name: "nightly", Audiences: []string{tokenAPI}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return w, ada, token, made
}

// personalAsk exchanges a token as a program does.
func personalAsk(w *arena.World, token, audience string, header ...string) *browser.Answer {
	return w.Browser().Form("/api/auth/token", url.Values{"audience": {audience}}, append([]string{"Authorization", "Bearer " + token}, header...)...)
}

// token11 checks that a personal access token is not accepted wherever a session is
// read. POST token takes one in its own header, and refuses it together with the
// readers' cookies.
func token11(t *T) {
	t.Strategies(func(t *T, strategy string) {
		w, ada, token, _ := personalWorld(t, strategy)
		places, readers := tokenPlaces(w), tokenReaders(w)
		places["two chunks"] = func(b *arena.Browser, token string) {
			b.Cookies[w.SessionCookie()+".0"], b.Cookies[w.SessionCookie()+".1"] = token[:20], token[20:]
		}
		delete(places, "the claims alone") // of a JWT
		places["without its prefix"] = func(b *arena.Browser, token string) { b.Cookies[w.SessionCookie()] = token[5:] }
		tokenIsNoSession(t, w, places, readers, token)
		tokenReadersKnow(t, readers, ada)
		if a := personalAsk(w, token, tokenAPI); a.StatusCode != 200 {
			t.Errorf("twin: %d %s", a.StatusCode, a.Text)
		}
		if len(places) < 40 {
			t.Errorf("only %d places", len(places))
		}
		t.Figure("%d places, %d readers", len(places), len(readers))
	})
}

// token12 checks that a personal access token cannot sign in, link an account, read
// or change one, or replace the CSRF token.
func token12(t *T) {
	w, ada, token, _ := personalWorld(t, "database")
	thief := w.Browser()
	thief.Header.Set("Authorization", "Bearer "+token)
	csrf := thief.CSRF()
	for _, path := range []string{"/api/auth/account", "/api/auth/confirm", "/api/auth/session?access_token=" + token} {
		if a := thief.Get(path); strings.Contains(a.Text, "ada@example.com") || strings.Contains(a.Text, "Ada") {
			t.Errorf("GET %s: %d %s", path, a.StatusCode, a.Text)
		}
	}
	form := func(fields ...string) url.Values {
		v := url.Values{"csrfToken": {csrf}, "json": {"true"}}
		for i := 0; i < len(fields); i += 2 {
			v.Set(fields[i], fields[i+1])
		}
		return v
	}
	for name, attack := range map[string]func() *browser.Answer{
		"profile": func() *browser.Answer { return thief.Form("/api/auth/account/profile", form("name", "Mallory")) },
		"unlink":  func() *browser.Answer { return thief.Form("/api/auth/account/unlink", form("id", "op")) },
		"confirm": func() *browser.Answer { return thief.Form("/api/auth/confirm", form()) },
		"update":  func() *browser.Answer { return thief.Form("/api/auth/session", form("data", "x")) },
		"password": func() *browser.Answer {
			return thief.Post("/api/auth/callback/credentials", "username", "ada", "password", token)
		},
		"code":  func() *browser.Answer { return thief.Get("/api/auth/callback/op?state=x&code=" + token) },
		"state": func() *browser.Answer { return thief.Get("/api/auth/callback/op?code=x&state=" + token) },
		"link": func() *browser.Answer {
			return thief.Get("/api/auth/callback/email?email=ada@example.com&token=" + token)
		},
		"CSRF token": func() *browser.Answer { return ada.Clone().Form("/api/auth/token", url.Values{"csrfToken": {token}}) },
		"in the body": func() *browser.Answer {
			return w.Browser().Form("/api/auth/token", url.Values{"access_token": {token}, "token": {token}, "audience": {tokenAPI}})
		},
		"in the address": func() *browser.Answer {
			return w.Browser().Form("/api/auth/token?access_token="+token, url.Values{"audience": {tokenAPI}})
		},
	} {
		before := w.Person(t, ada)
		if a := attack(); strings.Contains(a.Text, "access_token") || strings.Contains(a.Text, "ada@example.com") {
			t.Errorf("%s: %s", name, a.Text)
		}
		if now := w.Person(t, ada); now != before || thief.Email() != "" {
			t.Errorf("%s: ada was %q and is %q, the thief is %q", name, before, now, thief.Email())
		}
	}
	if a := thief.Form("/api/auth/signin/op", form("link", "true")); !strings.Contains(a.Text, "error=SessionRequired") {
		t.Errorf("linking: %d %s", a.StatusCode, a.Text)
	}
	if a := thief.Form("/api/auth/signout", form()); a.StatusCode != 200 || ada.Email() == "" {
		t.Errorf("sign-out: %d, ada is %q", a.StatusCode, ada.Email())
	}
	opensNoHost(t, w, token)
	for name, header := range map[string][]string{
		"cross-site":     {"Sec-Fetch-Site", "cross-site"},
		"foreign Origin": {"Origin", "https://evil.test"},
		"a cookie":       {"Cookie", "a=b"},
		"two headers":    {"Authorization", "Bearer " + token},
	} {
		if a := personalAsk(w, token, tokenAPI, header...); a.StatusCode < 400 || strings.Contains(a.Text, "access_token") {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Text)
		}
	}
	if a := personalAsk(w, token, tokenAPI); a.StatusCode != 200 {
		t.Errorf("twin: %d %s", a.StatusCode, a.Text)
	}
}

// token13 checks which events end a personal access token and which do not.
func token13(t *T) {
	at := time.Now()
	for name, c := range map[string]struct {
		end    func(t *T, w *arena.World, made authsvc.PersonalToken) error
		status int
	}{
		"revoked": {func(t *T, w *arena.World, made authsvc.PersonalToken) error {
			return w.RevokePersonalToken(t.Context(), made.UserID, made.ID)
		}, 401},
		"all revoked": {func(t *T, w *arena.World, made authsvc.PersonalToken) error {
			_, err := w.RevokePersonalTokens(t.Context(), made.UserID)
			return err
		}, 401},
		"blocked": {func(t *T, w *arena.World, made authsvc.PersonalToken) error {
			return w.Store.SetPerson(t.Context(), made.UserID, adapter.PersonUpdate{Blocked: &at}, nil)
		}, 401},
		"deleted": {func(t *T, w *arena.World, made authsvc.PersonalToken) error {
			return w.DeleteUser(t.Context(), made.UserID)
		}, 401},
		"signed out everywhere": {func(t *T, w *arena.World, made authsvc.PersonalToken) error {
			return w.EndSessions(t.Context(), made.UserID)
		}, 200},
	} {
		w, _, token, made := personalWorld(t, "jwt")
		if a := personalAsk(w, token, tokenAPI); a.StatusCode != 200 {
			t.Fatalf("%s, before: %d %s", name, a.StatusCode, a.Text)
		}
		if a := personalAsk(w, token, tokenOther); a.StatusCode != 403 {
			t.Errorf("another audience: %d", a.StatusCode)
		}
		if err := c.end(t, w, made); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if a := personalAsk(w, token, tokenAPI); a.StatusCode != c.status {
			t.Errorf("%s: %d %s", name, a.StatusCode, a.Text)
		}
	}
	w := t.Enter(func(c *authsvc.Config) {
		c.PersonalTokens.Enabled, c.Tokens.Audiences = true, []authsvc.Audience{{ID: tokenAPI}}
		c.RateLimit = authsvc.RateLimit{}
	})
	counts := map[int]int{}
	for range 40 {
		counts[personalAsk(w, personaltoken.New(), tokenAPI).StatusCode]++
	}
	if counts[http.StatusUnauthorized] < 30 || counts[http.StatusTooManyRequests] < 5 || len(counts) != 2 {
		t.Errorf("guessing: %v", counts)
	}
}
