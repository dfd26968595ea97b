package routers_test

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"

	"authsvc"
	"authsvc/authtest"
	"authsvc/engine"
	"authsvc/examples/routers"
)

func TestMain(m *testing.M) {
	gin.SetMode(gin.ReleaseMode)
	os.Exit(m.Run())
}

// TestRouters checks with each router that a person signs in and sees the page, that
// others do not see it, and that the engine's routes answer at their full paths.
func TestRouters(t *testing.T) {
	t.Parallel()
	for name, router := range map[string]func(*engine.Service, http.Handler) http.Handler{
		"net/http": routers.NetHTTP,
		"chi":      routers.Chi,
		"chi, mounted": func(auth *engine.Service, orders http.Handler) http.Handler {
			r := chi.NewRouter()
			r.Mount("/api/auth", auth)
			r.With(auth.Require).Method(http.MethodGet, "/orders", orders)
			return r
		},
		"echo": func(auth *engine.Service, _ http.Handler) http.Handler { return routers.Echo(auth) },
		"gin":  func(auth *engine.Service, _ http.Handler) http.Handler { return routers.Gin(auth) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			auth := authtest.New(t, nil)
			h := router(auth.Service, orders(auth.Service))
			auth.Handle("/", h)
			auth.Handle("/orders", h)
			get := func(c *http.Client, to string, header ...string) (*http.Response, string) {
				t.Helper()
				r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, nil)
				if err != nil {
					t.Fatal(err)
				}
				for i := 0; i+1 < len(header); i += 2 {
					r.Header.Set(header[i], header[i+1])
				}
				res, err := c.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				defer res.Body.Close()
				text, err := io.ReadAll(res.Body)
				if err != nil {
					t.Fatal(err)
				}
				return res, string(text)
			}
			ada := auth.Client(t, authsvc.User{Email: "ada@example.com"})
			if res, text := get(ada, auth.URL+"/orders"); res.StatusCode != http.StatusOK || text != "orders of ada@example.com" {
				t.Errorf("signed in: %s %s", res.Status, text)
			}
			guest := auth.Guest(t)
			guest.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
			if res, text := get(guest, auth.URL+"/orders"); res.StatusCode != http.StatusUnauthorized || strings.Contains(text, "orders") {
				t.Errorf("a script: %s %s", res.Status, text)
			}
			if res, text := get(guest, auth.URL+"/orders", "Accept", "text/html"); res.StatusCode != http.StatusFound || strings.Contains(text, "orders of") ||
				!strings.HasPrefix(res.Header.Get("Location"), auth.BaseURL()+"/signin?callbackUrl=") {
				t.Errorf("a person: %s %v %s", res.Status, res.Header, text)
			}
			if res, text := get(guest, auth.URL+"/orders", "HX-Request", "true"); res.StatusCode != http.StatusUnauthorized || strings.Contains(text, "orders of") || res.Header.Get("HX-Redirect") == "" {
				t.Errorf("htmx: %s %v %s", res.Status, res.Header, text)
			}
			// These requests pass through the router, not the server's own mount.
			direct := &http.Client{Transport: through{h}}
			for path, want := range map[string]int{"/api/auth/providers": 200, "/api/auth/signin": 200, "/api/auth/nothing": 404} {
				if res, text := get(direct, auth.URL+path); res.StatusCode != want || strings.Contains(text, "see its log") {
					t.Errorf("%s: %s %s", path, res.Status, text)
				}
			}
		})
	}
}

func orders(auth *engine.Service) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, err := auth.Session(r)
		if err != nil {
			http.Error(w, "try again later", http.StatusServiceUnavailable)
			return
		}
		io.WriteString(w, "orders of "+session.Email)
	})
}
