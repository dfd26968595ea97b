package engine_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// TestReservedPaths: at hosts of the gate, a path below the base that authsvc does not
// have says why the program behind the gate does not get it, as does the log, once.
// Elsewhere, the answers are the usual ones.
func TestReservedPaths(t *testing.T) {
	t.Parallel()
	const hint, token = "paths below /api/auth belong to authsvc", "s3cret-link"
	gate := func(origins ...string) func(*authsvc.Config) {
		return func(c *authsvc.Config) {
			c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
			for _, o := range origins {
				c.Gate.Hosts = append(c.Gate.Hosts, authsvc.GateHost{Origin: o, Upstream: "http://127.0.0.1:1"})
			}
		}
	}
	for name, c := range map[string]struct {
		tune         func(*authsvc.Config)
		method, at   string
		code         int
		said, logged bool
	}{
		"another host":              {gate(wiki), "GET", wiki + "/api/auth/reset/" + token + "/now?t=" + token, 421, true, true},
		"another host, a POST":      {gate(wiki), "POST", wiki + "/api/auth/login", 421, true, true},
		"another host, the base":    {gate(wiki), "GET", wiki + "/api/auth", 421, true, true},
		"another host, a route":     {gate(wiki), "GET", wiki + "/api/auth/session", 421, true, true},
		"another host, a gate's":    {gate(wiki), "GET", wiki + "/api/auth/gate/start", 401, false, false},
		"another host, outside":     {gate(wiki), "GET", wiki + "/api/authx", 421, false, false},
		"the login host":            {gate(arena.Origin), "GET", arena.Origin + "/api/auth/login", 404, true, true},
		"the login host, a POST":    {gate(arena.Origin), "POST", arena.Origin + "/api/auth/login", 404, true, true},
		"the login host, a route":   {gate(arena.Origin), "GET", arena.Origin + "/api/auth/csrf", 200, false, false},
		"the login host, ungated":   {gate(wiki), "GET", arena.Origin + "/api/auth/login", 404, false, false},
		"no gate":                   {nil, "GET", arena.Origin + "/api/auth/login", 404, false, false},
		"the mode answers, as ever": {func(c *authsvc.Config) { gate(arena.Origin)(c); c.Compat = authsvc.NextAuthV4 }, "GET", arena.Origin + "/api/auth/login", 400, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, c.tune)
			for range 3 {
				rec := httptest.NewRecorder()
				w.Service.ServeHTTP(rec, httptest.NewRequest(c.method, c.at, http.NoBody))
				if rec.Code != c.code || strings.Contains(rec.Body.String(), hint) != c.said {
					t.Errorf("%d %s", rec.Code, rec.Body)
				}
			}
			if n := strings.Count(w.Logs.String(), "give the URL another path, such as "+arena.Origin+"/authsvc"); n != map[bool]int{true: 1}[c.logged] {
				t.Errorf("said %d times: %s", n, w.Logs.String())
			}
			if name == "another host" && (strings.Contains(w.Logs.String(), token) || !strings.Contains(w.Logs.String(), "path=/api/auth/reset")) {
				t.Errorf("names no route, or more than that: %s", w.Logs.String())
			}
		})
	}
}
