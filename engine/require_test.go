package engine_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/test/arena"
)

func TestRequire(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		b := w.Browser()
		guarded := w.Require(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			s, err := w.Session(r)
			if err != nil || s == nil {
				t.Errorf("behind Require: %v, %v", s, err)
				return
			}
			io.WriteString(rw, s.Email)
		}))
		ask := func(method, accept string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(method, arena.Origin+"/app/page?a=b", nil)
			r.Header.Set("Accept", accept)
			for name, v := range b.Cookies {
				r.AddCookie(&http.Cookie{Name: name, Value: v})
			}
			rec := httptest.NewRecorder()
			guarded.ServeHTTP(rec, r)
			return rec
		}
		want := arena.Origin + "/api/auth/signin?callbackUrl=https%3A%2F%2Fapp.test%2Fapp%2Fpage%3Fa%3Db"
		if a := ask("GET", "text/html"); a.Code != http.StatusFound || a.Header().Get("Location") != want {
			t.Errorf("a person: %d %s", a.Code, a.Header().Get("Location"))
		}
		for _, a := range []*httptest.ResponseRecorder{ask("GET", "application/json"), ask("POST", "text/html")} {
			if a.Code != http.StatusUnauthorized {
				t.Errorf("a script: %d", a.Code)
			}
		}
		b.SignIn(w.OP, "ada")
		if a := ask("GET", "text/html"); a.Code != http.StatusOK || a.Body.String() != "ada@example.com" {
			t.Errorf("signed in: %d %s", a.Code, a.Body)
		}
	})
}

// TestRequireAskedByProxy checks that a proxy that asks with Require about another
// request gets at most one cookie: it passes on no more, and a part of a renewed session
// would replace a valid one.
func TestRequireAskedByProxy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pad    int
		header string
		lines  int
	}{
		"a browser, one cookie":                           {0, "", 1},
		"a browser, two cookies":                          {3000, "", 2},
		"nginx, one cookie":                               {0, "X-Original-URI", 1},
		"nginx, two cookies":                              {3000, "X-Original-URI", 0},
		"ingress, two cookies":                            {3000, "X-Original-URL", 0},
		"Caddy, two cookies":                              {3000, "X-Forwarded-Uri", 0},
		"a proxy that does not ask about another request": {3000, "X-Forwarded-For", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(config *authsvc.Config) {
				config.Session.Strategy, config.Session.UpdateAge = "jwt", -1
				config.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
					p.Claims["pad"] = strings.Repeat("x", c.pad)
					return p.Claims, nil
				}
			})
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			asked := b.Clone() // with the same cookies, at the program's handler
			asked.H = w.Require(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			if c.header != "" {
				asked.Header.Set(c.header, "/other")
			}
			for range 2 {
				if a := asked.Get("/check"); a.StatusCode != http.StatusOK || len(a.Header["Set-Cookie"]) != c.lines {
					t.Errorf("%d, cookies %q", a.StatusCode, a.Header["Set-Cookie"])
				}
			}
			b.Cookies = asked.Cookies
			if a := b.Get("/api/auth/session"); !strings.Contains(a.Text, "ada@example.com") || len(a.Header["Set-Cookie"]) != 1+c.pad/3000 {
				t.Errorf("GET session: %s, cookies %q", a.Text, a.Header["Set-Cookie"])
			}
		})
	}
}

// TestRequireHTMX: if a part of a page needs a sign-in, the whole page is sent to the
// sign-in and back to where it was, on this site only.
func TestRequireHTMX(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, func(c *authsvc.Config) { c.AllowedRedirects = []string{"https://shop.test"} })
	b := w.Browser()
	page := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { io.WriteString(rw, "part") })
	ask := func(h http.Handler, method string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, arena.Origin+"/part?a=b", nil)
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		for name, v := range b.Cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: v})
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		return rec
	}
	here, signIn := arena.Origin+"/part?a=b", arena.Origin+"/api/auth/signin?callbackUrl="
	for name, c := range map[string]struct {
		method string
		header []string
		back   string // "": no HX-Redirect
	}{
		"a part of a page":      {"GET", []string{"HX-Current-URL", arena.Origin + "/page?c=d&e"}, arena.Origin + "/page?c=d&e"},
		"a form":                {"POST", []string{"HX-Current-URL", arena.Origin + "/page"}, arena.Origin + "/page"},
		"accepts HTML":          {"GET", []string{"HX-Current-URL", arena.Origin + "/page", "Accept", "text/html"}, arena.Origin + "/page"},
		"another allowed site":  {"GET", []string{"HX-Current-URL", "https://shop.test/cart"}, "https://shop.test/cart"},
		"a boosted link":        {"GET", []string{"HX-Boosted", "true", "HX-Current-URL", arena.Origin + "/page"}, here},
		"a boosted form":        {"POST", []string{"HX-Boosted", "true", "HX-Current-URL", arena.Origin + "/page"}, arena.Origin + "/page"},
		"no page":               {"GET", nil, arena.Origin},
		"a foreign page":        {"GET", []string{"HX-Current-URL", "https://evil.example/"}, arena.Origin},
		"a page that is script": {"GET", []string{"HX-Current-URL", "javascript:alert(1)"}, arena.Origin},
		"a page and a header":   {"GET", []string{"HX-Current-URL", arena.Origin + "/\r\nSet-Cookie: a=b"}, arena.Origin},
		"another value":         {"GET", []string{"HX-Request", "yes", "HX-Current-URL", arena.Origin + "/page"}, ""},
		"none":                  {"GET", []string{"HX-Request", "", "HX-Current-URL", arena.Origin + "/page"}, ""},
	} {
		a := ask(w.Require(page), c.method, append([]string{"HX-Request", "true"}, c.header...)...)
		want := ""
		if c.back != "" {
			want = signIn + url.QueryEscape(c.back)
		}
		if got := a.Header().Get("HX-Redirect"); a.Code != http.StatusUnauthorized || got != want || a.Header().Get("Location") != "" {
			t.Errorf("%s: %d, HX-Redirect %q, want %q", name, a.Code, got, want)
		}
		if vary := strings.Join(a.Header().Values("Vary"), ","); !strings.Contains(vary, "HX-Request") || !strings.Contains(vary, "Cookie") || a.Header().Get("Cache-Control") != "private, no-cache, no-store" {
			t.Errorf("%s: caches: %v", name, a.Header())
		}
	}

	b.SignIn(w.OP, "ada")
	if a := ask(w.Require(page), "GET", "HX-Request", "true"); a.Code != http.StatusOK || a.Body.String() != "part" || a.Header().Get("HX-Redirect") != "" {
		t.Errorf("signed in: %d %s %v", a.Code, a.Body, a.Header())
	}
	a := ask(w.RequireFresh(-1)(page), "GET", "HX-Request", "true", "HX-Current-URL", arena.Origin+"/page")
	if want := strings.Replace(signIn, "/signin?", "/confirm?", 1) + url.QueryEscape(arena.Origin+"/page"); a.Header().Get("HX-Redirect") != want {
		t.Errorf("not fresh: %v, want %s", a.Header(), want)
	}
}

func TestEndSessionsAndDeleteUser(t *testing.T) {
	t.Parallel()
	strategies(t, nil, func(t *testing.T, w *arena.World) {
		one, two, other := w.Browser(), w.Browser(), w.Browser()
		one.SignIn(w.OP, "ada")
		two.SignIn(w.OP, "ada")
		other.SignIn(w.OP, "grace")
		ada := currentUser(t, w, one)
		if err := w.EndSessions(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
		if one.Email() != "" || two.Email() != "" || other.Email() == "" {
			t.Errorf("after EndSessions: %q, %q, %q", one.Email(), two.Email(), other.Email())
		}
		// Signing in again works at once, and deletion ends that session, too.
		if one.SignIn(w.OP, "ada"); one.Email() != "ada@example.com" {
			t.Fatalf("signed in again as %q\n%s", one.Email(), w.Logs)
		}
		if err := w.DeleteUser(t.Context(), ada); err != nil {
			t.Fatal(err)
		}
		if one.Email() != "" || other.Email() == "" {
			t.Errorf("after DeleteUser: %q, %q", one.Email(), other.Email())
		}
		if _, err := w.Store.GetUserByAccount(t.Context(), "op", "ada"); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("the account is left: %v", err)
		}
		if err := w.DeleteUser(t.Context(), ada); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("deleting again: %v", err)
		}
	})
}
