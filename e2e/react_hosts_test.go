package e2e

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/chromium"
)

// TestReactElsewhere tests next-auth/react in a program at a gate host that offers
// only the read part of the interface.
func TestReactElsewhere(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4} {
			t.Run(strategy+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				s, wiki := reactElsewhere(t, strategy, mode)
				b := newTab(t)
				b.Open(wiki + "/app")
				is(b, "unauthenticated", "", "")
				b.Click("#in")
				b.At(s.base + "/signin/op?callbackUrl=")
				b.Click(".p-op button")
				s.choose(b, "ada")
				b.At(wiki + "/app")
				is(b, "authenticated", "Ada Lovelace", "ada@example.com")
				if providers := chromium.Eval[map[string]any](b, `auth.getProviders()`); len(providers) != 3 {
					t.Errorf("providers: %v", providers)
				}
				b.Open(wiki + "/closed")
				b.Wait(`document.title === "Closed"`)
				b.Open(wiki + "/app")
				is(b, "authenticated", "Ada Lovelace", "ada@example.com")
				b.Click("#out")
				b.At(s.base + "/signout?callbackUrl=")
				b.Click("form[action$='/signout'] button")
				b.At(wiki + "/bye")
				is(b, "unauthenticated", "", "")
				if left := b.Cookies(wiki); left["authsvc.session"] != "" || left["next-auth.session-token"] != "" {
					t.Errorf("the session cookie got to %s: %v", wiki, left)
				}
				b.Quiet()
			})
		}
	}
}

// reactElsewhere returns reactSite, and the same application behind the gate at a
// host with its own cookie.
func reactElsewhere(t *testing.T, strategy string, mode authsvc.Compat) (s *site, origin string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	origin = "http://wiki.localhost:" + port
	s = reactSite(t, strategy, mode, func(c *authsvc.Config) {
		open := authsvc.Allow{Anyone: true}
		c.Gate.Hosts = []authsvc.GateHost{{Origin: origin, Rules: []authsvc.GateRule{{Match: "/app", Allow: open}, {Match: "/app.js", Allow: open}, {Match: "/bye", Allow: open}}}}
	})
	s.mux.HandleFunc("GET /closed", func(w http.ResponseWriter, _ *http.Request) { writePage(w, "<title>Closed</title>") })
	gate := s.auth.Guard(s.mux)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/auth/") {
			s.auth.ServeHTTP(w, r)
			return
		}
		gate.ServeHTTP(w, r)
	}))
	server.Listener.Close()
	server.Listener = ln
	server.Start()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return s, origin
}
