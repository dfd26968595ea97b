package engine_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/adaptertest"
	"authsvc/internal/test/arena"
)

// TestSignOutPage checks that the page asks only people who are signed in, or may be. In
// compat modes it asks everyone.
func TestSignOutPage(t *testing.T) {
	t.Parallel()
	const form, asks, done, page = `action="` + arena.Origin + `/api/auth/signout"`, "Are you sure", "You are signed out", "/api/auth/signout"
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		if w.Config.Compat != authsvc.CompatNone { // as with NextAuth.js
			if a := b.Get(page); !strings.Contains(a.Text, form) || !strings.Contains(a.Text, `name="csrfToken" value="`+b.CSRF()+`"`) || strings.Contains(a.Text, done) {
				t.Errorf("no one, compat: %d %s", a.StatusCode, a.Text)
			}
			return
		}
		for _, query := range []string{"", "?csrf=true", "?callbackUrl=/bye"} {
			a := b.Get(page + query)
			if a.StatusCode != http.StatusOK || !strings.Contains(a.Text, done) || !strings.Contains(a.Text, `href="`+arena.Origin+`/api/auth/signin"`) || strings.Contains(a.Text, form) || strings.Contains(a.Text, "still") ||
				!strings.Contains(a.Header.Get("Cache-Control"), "no-store") {
				t.Errorf("%q, no one: %d %v %s", query, a.StatusCode, a.Header, a.Text)
			}
		}
		if a := b.Get(page + "?callbackUrl=https://evil.example/"); strings.Contains(a.Text, "evil") {
			t.Errorf("it leads away: %s", a.Text)
		}
		b.SignIn(w.OP, "ada")
		if a := b.Get(page); !strings.Contains(a.Text, form) || !strings.Contains(a.Text, asks) || !strings.Contains(a.Text, "ada@example.com") || strings.Contains(a.Text, done) {
			t.Errorf("twin, signed in: %s", a.Text)
		}
		if b.Email() == "" {
			t.Error("the page ended the session")
		}
		b.Post(page)
		if a := b.Get(page); !strings.Contains(a.Text, done) {
			t.Errorf("afterwards: %s", a.Text)
		}
	})
	// While it is not known whether there is a session, the page offers to end it.
	faulty := adaptertest.Faulty(memory.New())
	w := arena.Start(t, func(c *authsvc.Config) { c.Adapter = faulty })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	faulty.FailBefore(1)
	if a := b.Get(page); !strings.Contains(a.Text, form) || strings.Contains(a.Text, done) {
		t.Errorf("the store does not answer: %s", a.Text)
	}
	faulty.FailBefore(0)
	// Another replica may already have another secret.
	_, at := guests(t, nil)
	_, there := guests(t, func(c *authsvc.Config) { c.Secrets = []string{strings.Repeat("0123456789abcdef", 3)} })
	g, other := at("203.0.113.1:1"), there("203.0.113.1:1")
	g.login("ada", "right")
	other.cookies = g.cookies
	if text := other.get(page).text; !strings.Contains(text, `/api/auth/signout" method="post"`) || strings.Contains(text, done) {
		t.Errorf("an unknown key: %s", text)
	}
	if text := g.get(page).text; !strings.Contains(text, "id of ada") {
		t.Errorf("twin, the known key: %s", text)
	}
}

// TestSignOutAfterBrowserLeft checks that a sign-out whose token was accepted ends the
// session even if the browser has disconnected.
func TestSignOutAfterBrowserLeft(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			w := arena.EnterOffline(t, func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
			b := w.Browser()
			b.Login("ada")
			stolen, gone := b.Clone(), httptest.NewRequest(http.MethodPost, b.Abs("/api/auth/signout"),
				strings.NewReader(url.Values{"csrfToken": {b.CSRF()}}.Encode()))
			gone.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			ctx, cancel := context.WithCancel(gone.Context())
			cancel()
			b.Do(gone.WithContext(ctx))
			if stolen.Email() != "" {
				t.Error("the session is still valid")
			}
		})
	}
}

// TestSignOutWithoutStore checks that a sign-out that the store cannot carry out says
// that nothing has changed, and that it works later.
func TestSignOutWithoutStore(t *testing.T) {
	t.Parallel()
	faulty := adaptertest.Faulty(memory.New())
	w := arena.Start(t, func(c *authsvc.Config) { c.Adapter, c.Session.Strategy = faulty, authsvc.StrategyDatabase })
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	token := b.CSRF()
	faulty.FailAll()
	a := b.Form("/api/auth/signout", url.Values{"csrfToken": {token}})
	query := arena.MustURL(t, a.Location()).Query()
	if a.StatusCode != http.StatusFound || query.Get("error") != "Configuration" || query.Get("reason") != "unavailable" || query.Has("provider") {
		t.Errorf("%d %s", a.StatusCode, a.Location())
	}
	page := b.Get(strings.TrimPrefix(a.Location(), arena.Origin))
	if page.StatusCode != http.StatusServiceUnavailable || !strings.Contains(page.Text, "Nothing has changed. Try again in a few minutes.") || strings.Contains(page.Text, "server configuration") {
		t.Errorf("%d %s", page.StatusCode, page.Text)
	}
	faulty.FailBefore(0)
	if b.Email() != "ada@example.com" {
		t.Error("she is signed out")
	}
	if a := b.Form("/api/auth/signout", url.Values{"csrfToken": {token}}); a.StatusCode != http.StatusFound || b.Email() != "" {
		t.Errorf("later: %d %s", a.StatusCode, a.Location())
	}
	if page := b.Get("/api/auth/error?error=Configuration"); page.StatusCode != http.StatusInternalServerError || !strings.Contains(page.Text, "server configuration") {
		t.Errorf("a mistake of the operator: %d %s", page.StatusCode, page.Text)
	}
}
