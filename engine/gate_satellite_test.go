package engine_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// TestSatellites checks that hosts of the gate serve the routes that clients read or
// that lead people to sign-in and sign-out, and nothing else.
func TestSatellites(t *testing.T) {
	t.Parallel()
	strategies(t, manyHosts, func(t *testing.T, w *arena.World) {
		w.T = t
		p := newRoamer(w)
		b := p.At(wiki)
		if got := b.Get("/api/auth/session"); got.StatusCode != http.StatusOK || strings.Contains(got.Text, "user") || len(got.Cookies()) != 0 {
			t.Errorf("no session: %d %s", got.StatusCode, got.Text)
		}
		p.SignIn(wiki + "/dash")
		jar := len(b.Cookies)
		a := b.Get("/api/auth/session")
		var session struct {
			User struct{ Name, Email string }
		}
		if err := json.Unmarshal([]byte(a.Text), &session); err != nil || session.User.Email != "ada@example.com" || session.User.Name != "Ada Lovelace" {
			t.Errorf("session: %d %s", a.StatusCode, a.Text)
		}
		if own := p.At(arena.Origin).Get("/api/auth/providers"); own.Text != b.Get("/api/auth/providers").Text || own.Text == "" {
			t.Error("the providers differ from those of the login host")
		}
		one, two := b.CSRF(), b.CSRF()
		if one == two || len(b.Cookies) != jar {
			t.Errorf("csrf: %q, %q, %d cookies instead of %d", one, two, len(b.Cookies), jar)
		}
		if a := p.At(arena.Origin).Form("/api/auth/signout", url.Values{"csrfToken": {one}}); !strings.Contains(a.Location(), "csrf=true") {
			t.Errorf("the login host accepts the token of another host: %d %s", a.StatusCode, a.Location())
		}
		for path, page := range map[string]string{"signin": "signin", "signin/op": "signin/op", "signout": "signout"} {
			for want, back := range map[string]string{"": "/", "/dash?a=b": "/dash?a=b", wiki + "/dash": "/dash", "https://evil.test/": "/", shop + "/": "/", arena.Origin + "/x": "/"} {
				to := arena.Origin + "/api/auth/" + page + "?callbackUrl=" + url.QueryEscape(wiki+"/api/auth/gate/start?to="+url.QueryEscape(back)+map[bool]string{true: "&signin=true"}[page != "signout"])
				form := url.Values{"callbackUrl": {want}, "csrfToken": {one}}
				if a := b.Form("/api/auth/"+path, form, "Origin", wiki, "Sec-Fetch-Site", "same-origin"); a.StatusCode != http.StatusFound || a.Location() != to {
					t.Errorf("POST %s to %q: %d %s, want %s", path, want, a.StatusCode, a.Location(), to)
				}
				form.Set("json", "true")
				if a := b.Form("/api/auth/"+path, form); a.StatusCode != http.StatusOK || a.URL(t) != to {
					t.Errorf("POST %s by a script to %q: %d %s", path, want, a.StatusCode, a.Text)
				}
				if a := b.Get("/api/auth/" + path + "?callbackUrl=" + url.QueryEscape(want)); a.Location() != to {
					t.Errorf("GET %s to %q: %d %s, want %s", path, want, a.StatusCode, a.Location(), to)
				}
			}
		}
		for _, path := range []string{"/signin/none", "/signin/op/x", "/callback/op", "/account", "/error", "/verify-request", "/client.js", "/token", "/jwks", "/gate/authorize", "/gate/none", "/confirm", "/signout/return", "/session/"} {
			if a := b.Get("/api/auth" + path); a.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("GET %s: %d", path, a.StatusCode)
			}
		}
		for _, path := range []string{"/session", "/csrf", "/providers", "/callback/op", "/callback/credentials", "/_log", "/account/signout", "/token", "/gate/authorize"} {
			if a := b.Form("/api/auth"+path, url.Values{"csrfToken": {one}}); a.StatusCode != http.StatusMisdirectedRequest {
				t.Errorf("POST %s: %d", path, a.StatusCode)
			}
		}
		if b.Email() != "ada@example.com" || p.At(arena.Origin).Email() != "ada@example.com" {
			t.Error("one of the requests signed her out")
		}
		renamed(t, b)
		p.At(arena.Origin).Post("/api/auth/signout")
		if got := b.Get("/api/auth/session"); strings.Contains(got.Text, "user") || b.Cookies[gateName] != "" {
			t.Errorf("after the sign-out: %s", got.Text)
		}
	})
}

// renamed checks that, if a proxy passes this host's name instead of the login host's,
// people see an error and are not redirected again.
func renamed(t *testing.T, b *arena.Browser) {
	t.Helper()
	targets := []string{arena.Origin + "/api/auth/gate/authorize?host=wiki.example&challenge=x"}
	for _, path := range []string{"signin", "signin/op", "signout"} {
		targets = append(targets, b.Get("/api/auth/"+path+"?callbackUrl="+url.QueryEscape(wiki+"/dash")).Location())
	}
	b.Header.Set("Accept", "text/html")
	targets = append(targets, b.Get("/api/auth/gate/leave?to=/dash").Location())
	b.Header.Del("Accept")
	for i, to := range targets {
		here := wiki + strings.TrimPrefix(to, arena.Origin)
		if a := b.Get(here); i == 0 && a.StatusCode != http.StatusMisdirectedRequest || i > 0 && a.StatusCode != http.StatusForbidden {
			t.Errorf("%s, by a script: %d %s", here, a.StatusCode, a.Location())
		}
		b.Header.Set("Accept", "text/html")
		if a := b.Get(here); a.StatusCode != http.StatusForbidden || !strings.Contains(a.Text, "app.test") || !strings.Contains(a.Text, "under the name of another host") {
			t.Errorf("%s: %d %s\n%s", here, a.StatusCode, a.Location(), a.Text)
		}
		b.Header.Del("Accept")
	}
}

// TestSatelliteReturn checks that people who sign in from a public page are signed in
// there, as the user they chose.
func TestSatelliteReturn(t *testing.T) {
	t.Parallel()
	strategies(t, manyHosts, func(t *testing.T, w *arena.World) {
		w.T = t
		p := newRoamer(w)
		as := func(sub, name string) {
			t.Helper()
			page := p.Open(wiki + "/api/auth/signin/op?callbackUrl=/open/").Location()
			a := p.At(arena.Origin).SignIn(w.OP, sub, "callbackUrl", arena.MustURL(t, page).Query().Get("callbackUrl"))
			if a := p.Walk(a.Location()); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, name) || p.Trace[len(p.Trace)-1] != wiki+"/open/" {
				t.Fatalf("as %s: %d %s\n%s", sub, a.StatusCode, a.Text, strings.Join(p.Trace, "\n"))
			}
		}
		as("ada", "Ada%20Lovelace")
		if w.Config.Compat == authsvc.CompatNone { // in other modes this would add a way to sign in
			as("alan", "Alan%20Turing")
		}
		refused := p.Open(wiki + "/closed/")
		if want := url.QueryEscape(wiki + "/api/auth/gate/start?to=%2Fclosed%2F&signin=true"); refused.StatusCode != http.StatusForbidden || !strings.Contains(refused.Text, want) {
			t.Errorf("another account: %d\n%s", refused.StatusCode, refused.Text)
		}
	})
}
