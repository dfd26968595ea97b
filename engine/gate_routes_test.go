package engine_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// TestOtherHostRoutes checks that of authsvc's routes, a program's host has only those
// of the gate. The others are refused there, even with the cookies of both hosts, and
// the program does not get them either.
func TestOtherHostRoutes(t *testing.T) {
	t.Parallel()
	strategies(t, manyHosts, func(t *testing.T, w *arena.World) {
		w.T = t
		p := newRoamer(w)
		p.SignIn(wiki + "/dash")
		b, home := p.At(wiki), p.At(arena.Origin)
		token := home.CSRF()
		gate := maps.Clone(b.Cookies)
		maps.Copy(b.Cookies, home.Cookies)
		refused := func(a *browser.Answer) bool {
			return a.StatusCode == http.StatusMisdirectedRequest && strings.Contains(a.Text, "paths below /api/auth belong to authsvc") && len(a.Cookies()) == 0 && a.Header.Get("Access-Control-Allow-Origin") == ""
		}
		for _, path := range []string{"/", "/session", "/session/", "/csrf", "/providers", "/signin", "/signin/op", "/signin/none", "/signin/op/x", "/signout", "/signout/return", "/callback/op", "/account", "/account/tokens", "/error", "/verify-request", "/client.js", "/token", "/jwks", "/confirm", "/gate/authorize", "/gate/none"} {
			if a := b.Get("/api/auth" + path + "?callbackUrl=/dash"); !refused(a) {
				t.Errorf("GET %s: %d %s", path, a.StatusCode, a.Text)
			}
			if a := p.Open(wiki + "/api/auth" + path + "?callbackUrl=/dash"); path != "/gate/authorize" && !refused(a) {
				t.Errorf("GET %s by a person: %d %s", path, a.StatusCode, a.Text)
			}
		}
		form := url.Values{"csrfToken": {token}, "callbackUrl": {wiki + "/dash"}, "json": {"true"}}
		for _, path := range []string{"/session", "/csrf", "/providers", "/signin", "/signin/op", "/signout", "/callback/op", "/callback/credentials", "/_log", "/account/signout", "/token", "/gate/authorize"} {
			if a := b.Form("/api/auth"+path, form, "Origin", wiki, "Sec-Fetch-Site", "same-origin"); !refused(a) {
				t.Errorf("POST %s: %d %s", path, a.StatusCode, a.Text)
			}
		}
		for _, path := range []string{"/session", "/csrf", "/providers", "/signin", "/signout", "/account"} {
			if a := home.Get("/api/auth" + path); a.StatusCode != http.StatusOK {
				t.Errorf("GET %s at the login host: %d", path, a.StatusCode)
			}
		}
		b.Cookies = gate
		if a := p.Open(wiki + "/dash"); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "ada@example.com") || home.Email() != "ada@example.com" {
			t.Errorf("one of the requests signed her out: %d %s", a.StatusCode, a.Text)
		}
		for _, route := range []string{"start", "landed", "leave"} {
			if a := p.Open(wiki + "/api/auth/gate/" + route); a.StatusCode != http.StatusFound {
				t.Errorf("gate/%s: %d", route, a.StatusCode)
			}
		}
		if a := p.Open(wiki + "/api/auth/gate/enter"); a.StatusCode != http.StatusBadRequest {
			t.Errorf("gate/enter: %d", a.StatusCode)
		}
	})
}

// sharedCookie is like manyHosts, but the session cookie reaches the first host.
func sharedCookie(c *authsvc.Config) {
	manyHosts(c)
	c.Cookies.Domain, c.Gate.Hosts[0].Origin = "app.test", "https://wiki.app.test"
}

// roamFirst returns a roamer and the first host of the gate. If the session cookie
// reaches that host, it has one jar with the login host.
func roamFirst(w *arena.World) (p *arena.Roamer, host string) {
	p, host = newRoamer(w), w.Config.Gate.Hosts[0].Origin
	if w.Config.Cookies.Domain != "" {
		p.At(host).Cookies = p.At(arena.Origin).Cookies
	}
	return p, host
}

// TestRenamedHost checks that, if a proxy passes a program's host instead of the login
// host, people see an error and are not redirected again.
func TestRenamedHost(t *testing.T) {
	t.Parallel()
	for name, tune := range map[string]func(*authsvc.Config){"a cookie of its own": manyHosts, "the session cookie": sharedCookie} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Enter(t, tune)
			p, host := roamFirst(w)
			authorize := p.Open(host + "/api/auth/gate/start?to=/dash").Location()
			p.SignIn(host + "/dash")
			targets := map[string]string{"authorize or sign-in": authorize, "leave": p.Open(host + "/api/auth/gate/leave?to=/dash").Location()}
			p.Walk(host + "/dash")
			targets["a fresh proof"] = p.Open(host + "/api/auth/gate/start?to=/fresh/").Location()
			targets["another account"] = switchURL(t, p.Open(host+"/closed/"))
			for name, to := range targets {
				there, ok := strings.CutPrefix(to, arena.Origin)
				if !ok {
					t.Fatalf("%s leads to %q", name, to)
				}
				if a := p.Open(host+there, "Sec-Fetch-Site", "cross-site"); a.StatusCode != http.StatusForbidden || !strings.Contains(a.Text, "app.test") || !strings.Contains(a.Text, "under the name of another host") {
					t.Errorf("%s, %s: %d %s\n%s", name, there, a.StatusCode, a.Location(), a.Text)
				}
				if a := p.At(host).Get(there); a.StatusCode != http.StatusMisdirectedRequest {
					t.Errorf("%s, by a script: %d %s", name, a.StatusCode, a.Location())
				}
				if a := p.Open(host+there, "Sec-Fetch-Site", "same-origin"); a.StatusCode != http.StatusMisdirectedRequest {
					t.Errorf("%s, from a page of this host: %d %s", name, a.StatusCode, a.Location())
				}
			}
			for _, path := range []string{"signin", "signin?callbackUrl=/dash", "signout?callbackUrl=https://evil.test/", "signin?callbackUrl=" + shop + "/", "account?callbackUrl=" + host + "/"} {
				if a := p.Open(host + "/api/auth/" + path); a.StatusCode != http.StatusMisdirectedRequest {
					t.Errorf("%s: %d", path, a.StatusCode)
				}
			}
		})
	}
}

// switchURL returns the address of "Use another account" on a page.
func switchURL(t *testing.T, a *browser.Answer) string {
	t.Helper()
	_, rest, ok := strings.Cut(a.Text, `href="`+arena.Origin+`/api/auth/signin?`)
	query, _, ends := strings.Cut(rest, `"`)
	if a.StatusCode != http.StatusForbidden || !ok || !ends {
		t.Fatalf("no other account: %d\n%s", a.StatusCode, a.Text)
	}
	return arena.Origin + "/api/auth/signin?" + strings.ReplaceAll(query, "&amp;", "&")
}

// TestSignInLink checks the link to gate/start on a page that is open to everyone:
// people come back to the page signed in, and those who are signed in already come back
// at once.
func TestSignInLink(t *testing.T) {
	t.Parallel()
	for name, tune := range map[string]func(*authsvc.Config){"a cookie of its own": manyHosts, "the session cookie": sharedCookie} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strategies(t, tune, func(t *testing.T, w *arena.World) {
				w.T = t
				p, host := roamFirst(w)
				link := host + "/api/auth/gate/start?to=/open/&signin=true"
				if a := p.Walk(host + "/api/auth/gate/start?to=/open/"); a.StatusCode != http.StatusOK || strings.Contains(a.Text, "ada@") {
					t.Errorf("without signin: %d %s", a.StatusCode, a.Text)
				}
				if a := p.SignIn(link); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "ada@example.com") || p.Trace[len(p.Trace)-1] != host+"/open/" {
					t.Fatalf("%d %s\n%s", a.StatusCode, a.Text, strings.Join(p.Trace, "\n"))
				}
				if a := p.Walk(link); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "ada@example.com") || p.Trace[len(p.Trace)-1] != host+"/open/" {
					t.Errorf("again: %d %s\n%s", a.StatusCode, a.Text, strings.Join(p.Trace, "\n"))
				}
				if a := p.At(host).Get(strings.TrimPrefix(link, host)); a.StatusCode == http.StatusFound && strings.Contains(a.Location(), arena.Origin) {
					t.Errorf("a script is sent to %s", a.Location())
				}
			})
		})
	}
}

// TestAnotherAccount checks that people who choose another account on the page of a
// refusal come back as that user.
func TestAnotherAccount(t *testing.T) {
	t.Parallel()
	strategies(t, manyHosts, func(t *testing.T, w *arena.World) {
		w.T = t
		p := newRoamer(w)
		p.SignIn(wiki + "/dash")
		page := switchURL(t, p.Open(wiki+"/closed/"))
		back := arena.MustURL(t, page).Query().Get("callbackUrl")
		if want := wiki + "/api/auth/gate/start?to=%2Fclosed%2F&signin=true"; back != want {
			t.Fatalf("back to %s, want %s", back, want)
		}
		if w.Config.Compat != authsvc.CompatNone { // there, this would add a way to sign in
			return
		}
		a := p.Walk(p.At(arena.Origin).SignIn(w.OP, "alan", "callbackUrl", back).Location())
		if a.StatusCode != http.StatusForbidden || !strings.Contains(strings.ToLower(a.Text), "<bdi>alan") {
			t.Errorf("%d %s\n%s", a.StatusCode, a.Text, strings.Join(p.Trace, "\n"))
		}
		if a := p.Open(wiki + "/dash"); !strings.Contains(a.Text, "Alan%20Turing") {
			t.Errorf("then: %d %s", a.StatusCode, a.Text)
		}
	})
}

// TestLeave checks the sign-out from a program's host: the sign-out page of the login
// host asks, comes back to the page, and the session has ended everywhere. If the person
// goes back without signing out, they are still signed in.
func TestLeave(t *testing.T) {
	t.Parallel()
	strategies(t, manyHosts, func(t *testing.T, w *arena.World) {
		w.T = t
		p := newRoamer(w)
		p.SignIn(wiki + "/dash")
		p.Walk(shop + "/dash")
		b := p.At(wiki)
		r := httptest.NewRequest(http.MethodGet, wiki+"/api/auth/gate/leave?to=/open/", nil)
		if a := b.Do(r); a.StatusCode != http.StatusForbidden || b.Cookies[gateName] == "" {
			t.Errorf("a script: %d", a.StatusCode)
		}
		if a := p.Walk(wiki + "/api/auth/gate/leave?to=/open/"); a.StatusCode != http.StatusOK || p.At(arena.Origin).Email() != "ada@example.com" {
			t.Fatalf("the page signs out by itself: %d %s", a.StatusCode, a.Text)
		}
		if a := p.Walk(wiki + "/dash"); a.StatusCode != http.StatusOK || !strings.Contains(a.Text, "ada@example.com") {
			t.Errorf("without a confirmation: %d %s", a.StatusCode, a.Text)
		}
		page := arena.MustURL(t, p.Open(wiki+"/api/auth/gate/leave?to=/open/").Location())
		if page.Host != "app.test" || page.Path != "/api/auth/signout" || b.Cookies[gateName] != "" {
			t.Fatalf("it leads to %s", page)
		}
		a := p.Walk(p.At(arena.Origin).Post("/api/auth/signout", "callbackUrl", page.Query().Get("callbackUrl")).Location())
		if a.StatusCode != http.StatusOK || strings.Contains(a.Text, "ada@") || p.Trace[len(p.Trace)-1] != wiki+"/open/" || p.At(arena.Origin).Email() != "" {
			t.Errorf("%d %s\n%s", a.StatusCode, a.Text, strings.Join(p.Trace, "\n"))
		}
		for _, address := range []string{wiki + "/dash", shop + "/dash"} {
			if a := p.Open(address); a.StatusCode != http.StatusFound {
				t.Errorf("%s after the sign-out: %d %s", address, a.StatusCode, a.Text)
			}
		}
	})
}
