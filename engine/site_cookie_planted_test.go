package engine_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// TestPlantedSessionsAreExpired: cookies that a sibling host can plant are expired on
// every path and domain. Nothing else is ever expired.
func TestPlantedSessionsAreExpired(t *testing.T) {
	t.Parallel()
	const v4, own = "__Secure-next-auth.session-token", "__Host-authsvc.session"
	for _, c := range []struct {
		name, cookies string
		compat        authsvc.Compat
		want          []string // attributes of expired session cookies, in part
		lines         int
	}{
		{"two values", v4 + "=a; " + v4 + "=b", authsvc.NextAuthV4, []string{
			v4 + "=; Max-Age=0; Path=/;", v4 + "=; Max-Age=0; Path=/api/auth;", v4 + "=; Max-Age=0; Path=/api/auth/session;",
			v4 + "=; Max-Age=0; Domain=auth.app.test; Path=/;", v4 + "=; Max-Age=0; Domain=app.test; Path=/api/auth;"}, 18},
		{"bare and chunk", v4 + "=a; " + v4 + ".0=b", authsvc.NextAuthV4, []string{v4 + ".0=; Max-Age=0; Path=/api/auth;"}, 36},
		{"bounded", v4 + "=a; " + v4 + ".0=b; " + v4 + ".1=c; " + v4 + ".2=d", authsvc.NextAuthV4, nil, 44},
		{"one dead value", v4 + "=a", authsvc.NextAuthV4, []string{v4 + "=; Max-Age=0; Path=/;"}, 1},
		{"not to be planted", own + "=a; " + own + "=b", authsvc.CompatNone, []string{own + "=; Max-Age=0; Path=/;"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(config *authsvc.Config) { config.Compat, config.URL = c.compat, "https://auth.app.test" })
			r := httptest.NewRequest(http.MethodGet, "https://auth.app.test/api/auth/session", nil)
			r.Header.Set("Cookie", c.cookies)
			rec := httptest.NewRecorder()
			w.ServeHTTP(rec, r)
			lines := rec.Header()["Set-Cookie"]
			if len(lines) != c.lines {
				t.Errorf("%d lines, want %d:\n%s", len(lines), c.lines, strings.Join(lines, "\n"))
			}
			for _, want := range c.want {
				if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }) {
					t.Errorf("no line %q in\n%s", want, strings.Join(lines, "\n"))
				}
			}
		})
	}
}

// TestPlantedCSRFCookie: two different CSRF cookies count as none, whichever is first:
// a sibling host may have planted one of them, with its token.
func TestPlantedCSRFCookie(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	own, attacker := w.Browser(), w.Browser()
	ownToken, planted := own.CSRF(), attacker.CSRF()
	name := w.CSRFCookie()
	first, second := name+"="+own.Cookies[name], name+"="+attacker.Cookies[name]
	for _, c := range []struct {
		what, cookies, token string
		passes               bool
	}{
		{"planted last", first + "; " + second, planted, false},
		{"planted first", second + "; " + first, planted, false},
		{"planted last, own token", first + "; " + second, ownToken, false},
		{"planted first, own token", second + "; " + first, ownToken, false},
		{"twin: one", first, ownToken, true},
		{"twin: the same twice", first + "; " + first, ownToken, true},
	} {
		r := httptest.NewRequest(http.MethodPost, arena.Origin+"/api/auth/signout", strings.NewReader("csrfToken="+c.token))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Cookie", c.cookies)
		rec := httptest.NewRecorder()
		w.ServeHTTP(rec, r)
		if passes := rec.Header().Get("Location") == arena.Origin; passes != c.passes {
			t.Errorf("%s: %d, to %q", c.what, rec.Code, rec.Header().Get("Location"))
		}
	}
}
