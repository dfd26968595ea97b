//go:build !race

package engine_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/allocs"
	"authsvc/internal/test/arena"
)

// TestAllocations checks the exact number of allocations of the most frequent requests.
// A change that needs fewer must lower the number here. The leading 2 of a sum is the
// sink, in place of the response writer that net/http would allocate.
func TestAllocations(t *testing.T) {
	jwt, signedIn := benchService(t, jwtV4)
	own, mine := benchService(t, func(c *authsvc.Config) { c.Session.Strategy = "jwt" })
	database, kept := benchService(t, nil)
	w := httptest.NewRecorder()
	get := func(path string) *http.Request { return httptest.NewRequest("GET", arena.Origin+"/api/auth"+path, nil) }
	database.ServeHTTP(w, get("/csrf"))
	token := get("/csrf")
	token.AddCookie(w.Result().Cookies()[0])
	served := func(s *engine.Service, r *http.Request) func() {
		return func() { s.ServeHTTP(&sink{h: http.Header{}}, r) }
	}
	read := func(s *engine.Service, r *http.Request) func() {
		return func() {
			if got, err := s.Session(r); err != nil || got == nil {
				t.Fatal(got, err)
			}
		}
	}
	gated := func(tune func(*authsvc.Config)) func() {
		s, in := benchService(t, func(c *authsvc.Config) {
			c.Gate.Hosts = []authsvc.GateHost{{Origin: arena.Origin, Rules: []authsvc.GateRule{{Match: "/page/"}}}}
			if tune != nil {
				tune(c)
			}
		})
		r := get("/")
		r.URL.Path, r.RequestURI, r.Header = "/page/a", "/page/a", in.Header
		passed := 0
		h := s.Guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed++ }))
		return func() {
			before := passed
			if h.ServeHTTP(&sink{h: http.Header{}}, r); passed == before {
				t.Fatal("the gate refuses the request")
			}
		}
	}
	checked := func(way string, tune func(*authsvc.Config)) func() {
		s, in := benchService(t, func(c *authsvc.Config) {
			c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} // of httptest
			c.Gate.Hosts = []authsvc.GateHost{{Origin: arena.Origin, Rules: []authsvc.GateRule{{Match: "/page/"}}}}
			if tune != nil {
				tune(c)
			}
		})
		r := get("/gate/" + way)
		r.RequestURI, r.Header = "/api/auth/gate/"+way, in.Header.Clone()
		for name, value := range map[string]string{"Method": "GET", "Host": "app.test", "Uri": "/page/a", "For": "198.51.100.7"} {
			r.Header.Set("X-Forwarded-"+name, value)
		}
		return func() {
			w := &sink{h: http.Header{}}
			if s.ServeHTTP(w, r); w.h["X-Auth-User-Id"] == nil {
				t.Fatal("the check refuses the request", w.h)
			}
		}
	}
	for name, c := range map[string]struct {
		call func()
		want float64
	}{
		"GET session, JWT of NextAuth.js":        {served(jwt, signedIn), 2 + 7},
		"GET session, JWT":                       {served(own, mine), 2 + 7},
		"GET session, database":                  {served(database, kept), 2 + 5},
		"GET csrf with its cookie":               {served(database, token), 2 + 3},
		"GET csrf without a cookie":              {served(database, get("/csrf")), 2 + 11},
		"GET providers":                          {served(database, get("/providers")), 2 + 2},
		"the gate, JWT of NextAuth.js":           {gated(jwtV4), 2 + 17},
		"the gate, JWT":                          {gated(func(c *authsvc.Config) { c.Session.Strategy = "jwt" }), 2 + 17},
		"the gate, database":                     {gated(nil), 2 + 15},
		"a check, JWT of NextAuth.js":            {checked("forward-auth", jwtV4), 2 + 12},
		"a check, JWT":                           {checked("forward-auth", func(c *authsvc.Config) { c.Session.Strategy = "jwt" }), 2 + 12},
		"a check, database":                      {checked("forward-auth", nil), 2 + 10},
		"a check of nginx, database":             {checked("auth-request", nil), 2 + 10},
		"Service.Session, JWT of NextAuth.js":    {read(jwt, signedIn), 5},
		"Service.Session, JWT":                   {read(own, mine), 5},
		"Service.Session, database":              {read(database, kept), 3},
		"Service.Session, no session (database)": {func() { _, _ = database.Session(token) }, 0},
	} {
		if got := allocs.PerRun(c.call); got != c.want {
			t.Errorf("%s: %v allocations, want %v", name, got, c.want)
		}
	}
}

func BenchmarkServiceSession(b *testing.B) {
	s, r := benchService(b, jwtV4)
	b.ReportAllocs()
	for b.Loop() {
		if got, err := s.Session(r); err != nil || got == nil {
			b.Fatal(got, err)
		}
	}
}
