package verify

import (
	"net/http"
	"strings"

	"authsvc"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/chromium"
)

// backButton signs out after pages that showed the user, and goes back.
func backButton(t *T) {
	t.Strategies(func(t *T, strategy string) { goneBack(t, strategy, "no-store") })
}

// traces does the same with a private page that sets no cache headers; the guard in
// front of it sets them.
func traces(t *T) {
	t.Strategies(func(t *T, strategy string) { goneBack(t, strategy, "") })
}

func back(b *chromium.Tab, to string) {
	b.T.Helper()
	b.Back()
	b.At(to)
}

// goneBack looks for the user in the pages that the back button shows after sign-out.
// cache is the Cache-Control of the application's own page.
func goneBack(t *T, strategy, cache string) {
	s := t.stage(func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
	s.app.Handle("GET /private", s.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := s.Session(r)
		if err != nil || v == nil {
			http.Error(w, "no session", http.StatusInternalServerError)
			return
		}
		if cache != "" {
			w.Header().Set("Cache-Control", cache)
		}
		writePage(w, "<title>Private</title><h1>Private of "+v.Email+"</h1>")
	})))
	b := s.tab()
	s.signIn(b, "op", "ada")
	b.Open(arena.Origin + "/private")
	b.Shows("Private of ada@example.com")
	b.Open(base + "/signin")
	b.Shows("ada@example.com")
	b.Open(base + "/signout?callbackUrl=/bye")
	b.Shows("ada@example.com")
	b.Click("#submitButton")
	b.At(arena.Origin + "/bye")
	for _, to := range []string{base + "/signout", base + "/signin", base + "/signin?callbackUrl="} { // where Require redirects strangers
		back(b, to)
		if text := b.Text(); strings.Contains(text, "ada@example.com") {
			t.Errorf("%s shows the person after sign-out:\n%s", b.URL(), text)
		}
	}
	s.is(b, "")
}
