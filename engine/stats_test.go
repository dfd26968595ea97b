package engine_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/stats"
)

// TestStats: every decision of the gate is counted by its kind, both through Guard and
// for proxies.
func TestStats(t *testing.T) {
	t.Parallel()
	w := arena.EnterOffline(t, func(c *authsvc.Config) {
		checkedWorld(c)
		c.Logger = slog.New(slog.DiscardHandler)
	})
	ada, bob, visitor := w.Browser(), w.Browser(), w.Browser()
	ada.Login("ada")
	bob.Login("bob")
	gate := w.Guard(http.HandlerFunc(echo))
	ask := func(b *arena.Browser, target string, header ...string) {
		r := httptest.NewRequest("GET", arena.Origin+target, nil)
		for name, value := range b.Cookies {
			r.AddCookie(&http.Cookie{Name: name, Value: value})
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		if host := r.Header.Get("Test-Host"); host != "" {
			r.Host = host
		}
		if strings.HasPrefix(target, "/api/auth/") {
			w.ServeHTTP(httptest.NewRecorder(), r)
			return
		}
		gate.ServeHTTP(httptest.NewRecorder(), r)
	}
	ask(ada, "/")
	ask(ada, "/y")
	ask(visitor, "/public/x")
	ask(visitor, "/x", "Accept", "text/html")
	ask(visitor, "/x")
	ask(bob, "/admin/x")
	ask(ada, "/closed/")
	ask(ada, "/fresh/")
	ask(ada, "/x%00")
	ask(ada, "/x", "Test-Host", "elsewhere.test")
	ask(ada, "/api/auth/gate/forward-auth") // by a client that may not ask
	want := map[string]map[stats.GateDecision]uint64{
		arena.Origin: {stats.GateAllow: 2, stats.GateAnonymous: 1, stats.GateSignIn: 1, stats.GateUnauthenticated: 1, stats.GateForbidden: 2, stats.GateStale: 1, stats.GateMalformed: 1},
		"":           {stats.GateForbidden: 1, stats.GateUntrusted: 1},
	}
	got := map[string]map[stats.GateDecision]uint64{}
	for origin, g := range w.Stats().Gate {
		got[origin] = g.Decisions
		if g.OpenStreams != 0 || len(g.StreamsClosed) != 0 {
			t.Errorf("%s: %+v", origin, g)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestStatsOfSignIns: each result of a sign-in is counted once by its provider, also a
// repetition that is not recorded.
func TestStatsOfSignIns(t *testing.T) {
	t.Parallel()
	w := arena.EnterInMemory(t, func(*authsvc.Config) {})
	b := w.Browser()
	b.SignIn(w.OP, "ada")
	w.Browser().SignInByMail(w, "mail@app.test")
	b.Post("/api/auth/signin/email", "email", "mail@app.test")
	for range 3 {
		b.Post("/api/auth/callback/credentials", "username", "ada", "password", "wrong")
		b.Post("/api/auth/callback/email", "email", "mail@app.test", "code", "no digits")
		b.Get("/api/auth/callback/op?code=x&state=y")
	}
	b.Post("/api/auth/signin/op?max_age=soon") // by the client, so not a failure of the provider
	to := b.Approve(w.OP, b.Begin("op"), "ada")
	w.OP.SetFault(idp.Fault{Status: map[idp.Endpoint]int{idp.EndpointToken: 503}})
	b.Get(to)
	b.Get("/api/auth/odd/path")
	b.Get("/api/auth/session")
	st := w.Stats()
	if diff := cmp.Diff(map[string]map[authsvc.AuditOutcome]uint64{
		"op":          {authsvc.AuditSuccess: 1, authsvc.AuditRefused: 4, authsvc.AuditFailed: 1},
		"email":       {authsvc.AuditSuccess: 1, authsvc.AuditRefused: 3},
		"credentials": {authsvc.AuditRefused: 3},
	}, st.SignIns); diff != "" {
		t.Error(diff)
	}
	if n := st.AuditEvents[authsvc.AuditRefused]["credentials.refused"]; n != 3 {
		t.Errorf("%d refusals of credentials are counted: %v", n, st.AuditEvents)
	}
	for _, k := range []requestKey{{Route: "session", Method: "GET", Status: 200}, {Route: "other", Method: "GET", Status: 404}} {
		if st.Requests[k] != 1 {
			t.Errorf("%v: %d", k, st.Requests[k])
		}
	}
	if n := st.Requests[requestKey{Route: "callback/:provider", Method: "POST", Status: 302}]; n != 6 {
		t.Errorf("%d answers to codes and credentials are counted: %v", n, st.Requests)
	}
}

// TestStatsTakenOver: the counts continue after Reconfigure.
func TestStatsTakenOver(t *testing.T) {
	t.Parallel()
	config := authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Logger: slog.New(slog.DiscardHandler),
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: authorizeAda}},
		Gate:      authsvc.Gate{Hosts: []authsvc.GateHost{{Origin: arena.Origin}}}}
	before, err := engine.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close(t.Context())
	after, err := before.Reconfigure(config)
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close(t.Context())
	for _, s := range []*engine.Service{before, after} {
		s.Guard(http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", arena.Origin+"/", nil))
		r := httptest.NewRequest("POST", arena.Origin+"/api/auth/signout", nil)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
	st := after.Stats()
	if n, m := st.Requests[requestKey{Route: "signout", Method: "POST", Status: 302}], st.AuditEvents[authsvc.AuditRefused]["csrf.refused"]; n != 2 || m != 2 {
		t.Errorf("%d requests and %d events are counted, want 2: %v, %v", n, m, st.Requests, st.AuditEvents)
	}
	if n := after.Stats().Gate[arena.Origin].Decisions[stats.GateUnauthenticated]; n != 2 {
		t.Errorf("%d are counted, want 2", n)
	}
}

// TestStatsStaySmall: no input of clients becomes a key.
func TestStatsStaySmall(t *testing.T) {
	t.Parallel()
	s, r := benchService(t, func(c *authsvc.Config) {
		c.Gate.Hosts = []authsvc.GateHost{{Origin: arena.Origin}}
		c.Tokens.Audiences = []authsvc.Audience{{ID: "https://api.example.com"}}
	})
	gate := s.Guard(http.NotFoundHandler())
	size := func() (n int) {
		st := s.Stats()
		for _, g := range st.Gate {
			n += 1 + len(g.Decisions) + len(g.StreamsClosed)
		}
		for _, counts := range st.SignIns {
			n += len(counts)
		}
		for _, counts := range st.AuditEvents {
			n += len(counts)
		}
		return n + len(st.TokensIssued) + len(st.SigningKeyAge) + len(st.Requests)
	}
	most := 2*(1+9+3) + 1 + 3 + 3 + 10 + 25
	words := []string{"gate/forward-auth", "gate/ext-authz/", "gate/auth-request", "token", "session", ""}
	for i := range 100_000 {
		odd := fmt.Sprintf("%x", rand.Uint64())
		ask := r.Clone(t.Context())
		ask.Method = []string{"GET", "POST", "M" + odd}[i%3]
		ask.Host = []string{"app.test", odd + ".app.test", odd}[i%3]
		ask.RequestURI = "/" + odd + "?audience=" + odd
		ask.URL.Path, ask.URL.RawQuery = "/"+odd, "audience="+odd
		ask.Header["X-Forwarded-Host"], ask.Header["X-Forwarded-Uri"], ask.Header["X-Forwarded-Method"] = []string{odd}, []string{"/" + odd}, []string{odd}
		if i%2 == 0 {
			ask.RequestURI = "/api/auth/" + words[i%len(words)] + odd
			ask.URL.Path = ask.RequestURI
			s.ServeHTTP(&sink{h: http.Header{}}, ask)
			continue
		}
		gate.ServeHTTP(&sink{h: http.Header{}}, ask)
	}
	if n := size(); n > most {
		t.Errorf("%d counts, at most %d can be", n, most)
	}
}

// A requestKey is a key of Stats.Requests.
type requestKey = struct {
	Route, Method string
	Status        int
}
