package e2e

import (
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"authsvc"
)

// TestGateLinks tests the links to gate/start and gate/leave in a program at a gate host
// that does not get the session cookie, on a page that is open to everyone.
func TestGateLinks(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4} {
			t.Run(strategy+"/"+string(mode), func(t *testing.T) {
				t.Parallel()
				s, wiki := siteElsewhere(t, strategy, mode)
				b := newTab(t)
				named := func(name string) {
					t.Helper()
					b.Wait(`document.getElementById("name")?.textContent === "` + name + `"`)
				}
				b.Open(wiki + "/app")
				named("")
				b.Click("#in")
				b.At(s.base + "/signin?callbackUrl=")
				b.Click(".p-op button")
				s.choose(b, "ada")
				b.At(wiki + "/app?a=b&c=d")
				named("Ada%20Lovelace ada@example.com")
				b.Open(wiki + "/closed")
				b.Wait(`document.title === "Closed"`)
				b.Open(wiki + "/app")
				named("Ada%20Lovelace ada@example.com")
				b.Click("#out")
				b.At(s.base + "/signout?callbackUrl=")
				b.Open(wiki + "/closed") // without a confirmation
				b.Wait(`document.title === "Closed"`)
				b.Open(wiki + "/app")
				b.Click("#out")
				b.At(s.base + "/signout?callbackUrl=")
				b.Click("form[action$='/signout'] button")
				b.At(wiki + "/bye")
				named("")
				if left := b.Cookies(wiki); left["authsvc.session"] != "" || left["next-auth.session-token"] != "" || left["authsvc.gate"] != "" {
					t.Errorf("%s keeps %v", wiki, left)
				}
				b.Open(wiki + "/closed")
				b.At(s.base + "/signin?callbackUrl=")
				b.Quiet()
			})
		}
	}
}

// siteElsewhere returns a site, and the origin of a program behind its gate at a host
// with its own cookie.
func siteElsewhere(t *testing.T, strategy string, mode authsvc.Compat) (s *site, origin string) {
	t.Helper()
	requested(t, "Node and Chromium")
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	origin = "http://wiki.localhost:" + port
	s = newSite(t, func(_ *site, c *authsvc.Config) {
		open := authsvc.Allow{Anyone: true}
		c.Session.Strategy, c.Compat = authsvc.Strategy(strategy), mode
		c.Gate.Hosts = []authsvc.GateHost{{Origin: origin, Rules: []authsvc.GateRule{{Match: "/app", Allow: open}, {Match: "/bye", Allow: open}}}}
	})
	app := func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimSpace(r.Header.Get("X-Auth-Name") + " " + r.Header.Get("X-Auth-Email"))
		writePage(w, `<title>App</title><p id="name">`+html.EscapeString(name)+`</p><a id="in" href="/api/auth/gate/start?to=/app%3Fa=b%26c=d&amp;signin=true">Sign in</a> <a id="out" href="/api/auth/gate/leave?to=/bye">Sign out</a>`)
	}
	s.mux.HandleFunc("GET /app", app)
	s.mux.HandleFunc("GET /bye", app)
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
