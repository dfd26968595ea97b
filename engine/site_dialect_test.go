package engine_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// TestOutsideBasePath: in every mode, a path that is not below the base path is not
// found. Below it, compat modes answer as NextAuth.js does.
func TestOutsideBasePath(t *testing.T) {
	t.Parallel()
	for mode, below := range map[authsvc.Compat]int{authsvc.CompatNone: 404, authsvc.NextAuthV4: 400, authsvc.AuthJSV5: 400} {
		w := arena.Start(t, func(c *authsvc.Config) { c.Compat = mode })
		for path, want := range map[string]int{
			"/": 404, "/favicon.ico": 404, "/api/authx": 404, "/api/auth%2Fsession": 404, "/API/auth/session": 404, "/api": 404,
			"/api/auth/nothing": below, "/api/auth/": below, "/api/auth/session/": below, "/api/auth/signin/nobody": below,
		} {
			for _, method := range []string{"GET", "HEAD", "POST", "DELETE"} {
				rec := httptest.NewRecorder()
				r := httptest.NewRequest(method, arena.Origin+path, nil)
				if w.ServeHTTP(rec, r); rec.Code != want || len(rec.Result().Cookies()) != 0 {
					t.Errorf("%s: %s %s: %d, want %d", mode, method, path, rec.Code, want)
				}
			}
		}
	}
}

// TestErrorCodesInAnyCase: in compat modes, pages explain an error code in any case. In
// the other mode they do not. Other words never become a code.
func TestErrorCodesInAnyCase(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		text := func(path string) (int, string) {
			a := b.Get(path)
			_, main, _ := strings.Cut(a.Text, "<main")
			main, _, _ = strings.Cut(main, "</main>")
			return a.StatusCode, strings.ReplaceAll(main, b.CSRF(), "")
		}
		for word, status := range map[string]int{"AccessDenied": 403, "Configuration": 500, "Verification": 403} {
			_, want := text("/api/auth/error?error=" + word)
			for _, path := range []string{"/api/auth/error?error=" + strings.ToLower(word), "/api/auth/error/" + strings.ToUpper(word)} {
				if got, main := text(path); w.Config.Compat == authsvc.CompatNone && (got != http.StatusOK || main == want) {
					t.Errorf("%s: %d, explained", path, got)
				} else if w.Config.Compat != authsvc.CompatNone && (got != status || main != want) {
					t.Errorf("%s: %d, not the page of %s", path, got, word)
				}
			}
		}
		_, want := text("/api/auth/signin?error=OAuthAccountNotLinked")
		if _, main := text("/api/auth/signin?error=oauthaccountnotlinked"); (main == want) != (w.Config.Compat != authsvc.CompatNone) || !strings.Contains(main, "banner") {
			t.Error("the sign-in page, on a word in lower case")
		}
		for _, word := range []string{"constructor", "access", "accessdeniedx", "__proto__"} {
			if got, main := text("/api/auth/error?error=" + word); got != http.StatusOK || strings.Contains(main, word) {
				t.Errorf("%s: %d", word, got)
			}
		}
	})
}
