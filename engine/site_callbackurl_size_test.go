package engine_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
)

// TestLongCallbackURL: an allowed address is reached in the end, even through a
// provider, and no cookie is larger than browsers keep.
func TestLongCallbackURL(t *testing.T) {
	t.Parallel()
	const own = len(arena.Origin)
	for name, c := range map[string]struct {
		path string
		ok   bool // it is allowed
		lost bool // but no cookie can hold it
	}{
		"short":                     {"/in", true, false},
		"as long as may be":         {"/" + strings.Repeat("a", 2048-own-1), true, false},
		"2017 bytes":                {"/" + strings.Repeat("a", 2017-own-1), true, false},
		"a query":                   {"/?" + strings.Repeat("a=b&", 507), true, false},
		"percent-encoded":           {"/" + strings.Repeat("%C3%A9", 338), true, false},
		"not encoded":               {"/" + strings.Repeat("é", 338), true, false},
		"slashes":                   {"/a" + strings.Repeat("/", 2030), true, false},
		"semicolons":                {"/" + strings.Repeat(";", 2030), true, true},
		"a byte more":               {"/" + strings.Repeat("a", 2048-own), false, false},
		"longer when it is encoded": {"/" + strings.Repeat("é", 1000), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			strategies(t, nil, func(t *testing.T, w *arena.World) {
				encoded := strings.ReplaceAll(c.path, "é", "%C3%A9")
				want := arena.Origin + encoded
				if !c.ok || c.lost {
					want = arena.Origin
				}
				b := w.Browser()
				b.Post("/api/auth/signin/op", "callbackUrl", "/before")
				authorization := fitting(t, b.Post("/api/auth/signin/op", "callbackUrl", c.path)).Location()
				a := fitting(t, b.Get(b.Approve(w.OP, authorization, "ada")))
				if a.Location() != want {
					t.Errorf("back at %.100s\n%s", a.Location(), w.Logs)
				}
				other := w.Browser()
				fitting(t, other.Get("/api/auth/signin?callbackUrl="+url.QueryEscape(c.path)))
				if a := other.SignIn(w.OP, "ada"); a.Location() != want {
					t.Errorf("by the page's cookie, back at %.100s", a.Location())
				}
			})
		})
	}
}

// fitting returns an answer after checking that browsers keep its cookies.
func fitting(t *testing.T, a *browser.Answer) *browser.Answer {
	t.Helper()
	for _, line := range a.Header["Set-Cookie"] {
		if pair, _, _ := strings.Cut(line, ";"); len(pair) > 4096+1 { // one more for =
			t.Errorf("a cookie of %d bytes: %.60s", len(pair)-1, pair)
		}
	}
	return a
}

// TestLongCallbackURLMatchesAttempt: a destination that is only in its cookie counts if
// it belongs to the attempt.
func TestLongCallbackURLMatchesAttempt(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	b := w.Browser()
	authorization := b.Begin("op", "callbackUrl", "/"+strings.Repeat("a", 2000))
	b.Begin("op", "callbackUrl", "/"+strings.Repeat("b", 2000))
	if a := b.Get(b.Approve(w.OP, authorization, "ada")); a.Location() != arena.Origin {
		t.Errorf("back at %.100s", a.Location())
	}
}

// TestRefusalKeepsCallbackURL: a wrong token, or too many attempts, do not lose the
// destination.
func TestRefusalKeepsCallbackURL(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		limited := func(c *authsvc.Config) { c.RateLimit.SignIn = authsvc.Rate{N: 1, Per: 3600e9} }
		for name, refuse := range map[string]func(b *arena.Browser, path, to string){
			"a stale token": func(b *arena.Browser, path, to string) {
				a := b.Post(path, "callbackUrl", to, "csrfToken", "stale")
				if !strings.HasSuffix(a.Location(), "?csrf=true") {
					t.Errorf("%s: %d %s", path, a.StatusCode, a.Location())
				}
			},
			"a stale token, for a script": func(b *arena.Browser, path, to string) {
				b.Post(path, "callbackUrl", to, "csrfToken", "stale", "json", "true")
			},
			"too many": func(b *arena.Browser, path, to string) {
				slow := arena.Start(t, func(c *authsvc.Config) {
					limited(c)
					c.Compat, c.Session, c.Adapter = w.Config.Compat, w.Config.Session, w.Config.Adapter
				})
				b.H = slow
				b.Post(path)
				delete(b.Cookies, "__Host-authsvc.callback-url")
				a := b.Post(path, "callbackUrl", to)
				if b.H = w; a.StatusCode != http.StatusTooManyRequests {
					t.Errorf("%s: %d %s", path, a.StatusCode, a.Location())
				}
			},
		} {
			for _, path := range []string{"/api/auth/signin/op", "/api/auth/signin/email", "/api/auth/callback/credentials"} {
				b := w.Browser()
				refuse(b, path, "/there")
				if page := b.Get("/api/auth/signin"); !strings.Contains(page.Text, `value="https://app.test/there"`) {
					t.Errorf("%s at %s: the page does not lead there", name, path)
				}
				b = w.Browser()
				refuse(b, path, "https://evil.test/there")
				if page := b.Get("/api/auth/signin"); strings.Contains(page.Text, "evil.test") {
					t.Errorf("%s at %s: the page leads elsewhere", name, path)
				}
			}
		}
	})
}
