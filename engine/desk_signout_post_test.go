package engine_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
)

// toPost signs ada in and out, up to the page that posts to the provider.
func toPost(t *testing.T, w *arena.World) (b *arena.Browser, page string) {
	t.Helper()
	b = w.Browser()
	b.SignIn(w.OP, "ada")
	page = b.Post("/api/auth/signout", "callbackUrl", "/bye").Location()
	if !strings.HasPrefix(page, arena.Origin+"/api/auth/signout/provider?state=") {
		t.Fatalf("%s\n%s", page, w.Logs)
	}
	return b, page
}

// returned ends the sign-out of a page.
func returned(t *testing.T, b *arena.Browser, page string) string {
	t.Helper()
	return b.Get("/api/auth/signout/return?" + arena.MustURL(t, page).RawQuery).Location()
}

func TestSignOutPost(t *testing.T) {
	t.Parallel()
	w := leaving(t, nil)
	b, page := toPost(t, w)
	for range 2 { // it may be loaded again
		a := b.Get(page)
		policy := a.Header.Get("Content-Security-Policy")
		if a.StatusCode != 200 || !strings.Contains(a.Header.Get("Cache-Control"), "no-store") || !strings.Contains(policy, "frame-ancestors 'none'") ||
			!strings.Contains(policy, "script-src 'sha256-") || a.Header.Get("Referrer-Policy") != "strict-origin" || len(a.Cookies()) != 0 {
			t.Errorf("%d %v", a.StatusCode, a.Header)
		}
		l := b.Leave(page)
		if names := slices.Sorted(maps.Keys(l.Sent)); l.Method != "POST" || !slices.Equal(names, []string{"client_id", "id_token_hint", "post_logout_redirect_uri", "state"}) {
			t.Errorf("%+v", l)
		}
	}
	if to := returned(t, b, page); to != arena.Origin+"/bye" {
		t.Errorf("back at %s", to)
	}
	if a := b.Get(page); a.Location() != arena.Origin {
		t.Errorf("after the return: %d %s", a.StatusCode, a.Location())
	}
}

// TestSignOutPostUnknownState checks that a browser which did not sign out is led home
// and gets no token.
func TestSignOutPostUnknownState(t *testing.T) {
	t.Parallel()
	w := leaving(t, nil)
	_, foreign := toPost(t, w)
	for name, change := range map[string]func(b *arena.Browser, q url.Values){
		"no state":         func(_ *arena.Browser, q url.Values) { q.Del("state") },
		"state twice":      func(_ *arena.Browser, q url.Values) { q.Add("state", q.Get("state")) },
		"state of another": func(_ *arena.Browser, q url.Values) { q.Set("state", arena.MustURL(t, foreign).Query().Get("state")) },
		"state of a sign-in": func(b *arena.Browser, q url.Values) {
			q.Set("state", arena.MustURL(t, b.Begin("op")).Query().Get("state"))
		},
		"state changed": func(_ *arena.Browser, q url.Values) { q.Set("state", q.Get("state")[1:]) },
		"no CSRF token": func(b *arena.Browser, _ url.Values) { delete(b.Cookies, w.CSRFCookie()) },
		"other CSRF token": func(b *arena.Browser, _ url.Values) {
			delete(b.Cookies, w.CSRFCookie())
			b.CSRF()
		},
		"no cookie": func(b *arena.Browser, _ url.Values) {
			maps.DeleteFunc(b.Cookies, func(name, _ string) bool { return strings.Contains(name, ".tx.") })
		},
	} {
		b, page := toPost(t, w)
		q := arena.MustURL(t, page).Query()
		changed := b.Clone()
		change(changed, q)
		audits := strings.Count(w.Logs.String(), "event=sign_out.return_refused")
		if a := changed.Get("/api/auth/signout/provider?" + q.Encode()); a.StatusCode != 302 || a.Location() != arena.Origin || a.Text != "" {
			t.Errorf("%s: %d %s %s", name, a.StatusCode, a.Location(), a.Text)
		}
		if n := strings.Count(w.Logs.String(), "event=sign_out.return_refused") - audits; n != 1 {
			t.Errorf("%s: %d audit events", name, n)
		}
		if l := b.Leave(page); l.Method != "POST" || returned(t, b, page) != arena.Origin+"/bye" {
			t.Errorf("%s: twin: %+v", name, l)
		}
	}
}

// TestSignOutPostNeedsNavigation checks that only a person's navigation shows the page.
func TestSignOutPostNeedsNavigation(t *testing.T) {
	t.Parallel()
	w := leaving(t, nil)
	b, page := toPost(t, w)
	for _, c := range []struct {
		header, value string
		want          int
	}{
		{"Sec-Purpose", "prefetch;prerender", 503}, {"Purpose", "prefetch", 503},
		{"Sec-Fetch-Dest", "empty", 403}, {"Sec-Fetch-Dest", "iframe", 403}, {"Sec-Fetch-Dest", "script", 403}, {"Sec-Fetch-Mode", "cors", 403},
		{"Sec-Fetch-Dest", "document", 200}, {"Sec-Fetch-Mode", "navigate", 200}, {"Accept", "text/html", 200},
	} {
		r := httptest.NewRequest(http.MethodGet, page, nil)
		r.Header.Set(c.header, c.value)
		if a := b.Do(r); a.StatusCode != c.want || strings.Contains(a.Text, "eyJ") != (c.want == 200) {
			t.Errorf("%s %s: %d %s", c.header, c.value, a.StatusCode, a.Text)
		}
	}
	if !strings.Contains(w.Logs.String(), "not requested as a top-level page") {
		t.Errorf("no audit event\n%s", w.Logs)
	}
}

// TestSignOutPostAfterChanges checks that a sign-out still completes if something it
// needs is gone meanwhile.
func TestSignOutPostAfterChanges(t *testing.T) {
	t.Parallel()
	account := func(t *testing.T, w *arena.World) authsvc.User {
		u, err := w.Store.GetUserByAccount(t.Context(), "op", "ada")
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, w *arena.World, b *arena.Browser)
		end    bool // at the provider, without a hint
	}{
		"user gone": {func(t *testing.T, w *arena.World, _ *arena.Browser) {
			if err := w.DeleteUser(t.Context(), account(t, w).ID); err != nil {
				t.Fatal(err)
			}
		}, true},
		"a second account": {func(t *testing.T, w *arena.World, _ *arena.Browser) {
			if _, err := w.Store.LinkAccount(t.Context(), authsvc.Account{ID: "second", UserID: account(t, w).ID, Type: "oidc", Provider: "op", ProviderAccountID: "second"}, 0); err != nil {
				t.Fatal(err)
			}
		}, true},
		"provider down": {func(t *testing.T, w *arena.World, b *arena.Browser) {
			other(t, w, b, w.Config.Providers)
			w.OP.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointDiscovery: 500}})
		}, false},
		"provider no longer configured": {func(t *testing.T, w *arena.World, b *arena.Browser) {
			other(t, w, b, w.Config.Providers[1:])
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := leaving(t, nil)
			b, page := toPost(t, w)
			c.change(t, w, b)
			a := b.Get(page)
			to := arena.MustURL(t, a.Location())
			if a.StatusCode != 302 || to.Query().Has("id_token_hint") {
				t.Fatalf("%d %s\n%s", a.StatusCode, to, w.Logs)
			}
			if end := strings.HasPrefix(to.String(), w.OP.Issuer()+"/end?client_id=app&"); end != c.end || !end && to.String() != arena.Origin+"/bye" {
				t.Errorf("%s\n%s", to, w.Logs)
			}
			if to := returned(t, b, page); to != arena.Origin+"/bye" {
				t.Errorf("back at %s", to)
			}
		})
	}
}

// other connects a browser to a replica with these providers, which has not asked them
// anything yet.
func other(t *testing.T, w *arena.World, b *arena.Browser, providers []authsvc.Provider) {
	t.Helper()
	c := w.Config
	c.Providers = providers
	s, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.WithoutCancel(t.Context())) })
	b.H = s
}
