package verify

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/bearer"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/dev/mailbox"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
	"authsvc/internal/test/proxytest"
)

// skews are the offsets of the replicas' clocks, in nginx's order.
var skews = []time.Duration{30 * time.Second, 0, -30 * time.Second}

// Times of lifecycle13.
const (
	skewedHost   = "https://wiki.example"
	skewedMaxAge = 30 * time.Second // of sessions, no longer than the difference of the clocks
	skewedDue    = 20 * time.Second // until a provider's token must be renewed
)

// A skewedSite has replicas with different clocks behind one nginx.
type skewedSite struct {
	*process.Neighbours
	replicas []*process.Process
	proxy    *proxytest.Proxy
	inside   *engine.Service // another replica, whose clock is right
	store    adapter.Adapter
	strategy string
	people   int
	pairs    int // of replicas: one where a flow begins, one where it continues
}

// lifecycle13 sends people's requests to one replica after the other. One replica's
// clock is half a minute ahead, another's half a minute behind.
func lifecycle13(t *T) {
	kind := stores.All()[2] // postgres
	if lack := lackOf(kind.Name); lack != "" {
		t.lacks(lack)
	}
	t.Strategies(func(t *T, strategy string) {
		t.Parallel()
		s := newSkewedSite(t, kind, strategy)
		s.clocksDiffer(t)
		refreshed := s.refresh(t)
		s.signInsAndTokens(t)
		s.handOvers(t)
		s.codes(t)
		s.revocations(t)
		refreshed()
		s.sliding(t)
		t.Figure("%s: %d pairs of replicas", strategy, s.pairs)
	})
}

func newSkewedSite(t *T, kind stores.Kind, strategy string) *skewedSite {
	t.Helper()
	s := &skewedSite{Neighbours: process.NewNeighbours(t, site+"/api/auth/callback/op"), strategy: strategy}
	program := httptest.NewServer(http.HandlerFunc(tells))
	t.Cleanup(program.Close)
	yaml := strings.Replace(s.YAML(fmt.Sprintf(`trusted_proxies: [127.0.0.1/32]
session: {strategy: %s, max_age: %v, update_age: 3s}
tokens: {audiences: [{id: %q, claims: [email]}]}
gate: {hosts: [{origin: %q, upstream: %q}]}
`, strategy, skewedMaxAge, tokenAPI, skewedHost, program.URL)), `"{origin}"`, site, 1)
	env, servers := kind.Env(t, t.TempDir()), ""
	for _, skew := range skews {
		p := process.Prepare(t, yaml, env...)
		p.Skew = skew
		p.Start()
		s.replicas, servers = append(s.replicas, p), servers+"server "+p.Addr+"; "
	}
	for _, p := range s.replicas {
		p.Ready(time.Minute)
	}
	s.proxy = proxytest.Start(t, "nginx", proxytest.Options{Site: proxytest.Blocks(t, proxyPage, "nginx")[0],
		Replace: []string{"server 127.0.0.1:3000;", servers, "location /api/auth/ {", "location / {",
			"proxy_set_header Host app.example.com;", "proxy_set_header Host $host;"}}) // it also serves the gate host
	s.store = storeAt(t, env)
	var err error
	s.inside, err = engine.New(authsvc.Config{URL: site, Secrets: []string{arena.Secret}, Adapter: s.store, Logger: slog.New(slog.DiscardHandler),
		Session:   authsvc.SessionOptions{Strategy: authsvc.Strategy(strategy), MaxAge: skewedMaxAge, UpdateAge: 3 * time.Second},
		Providers: []authsvc.Provider{&authsvc.OAuth{ID: "op", Name: "Example", OpenID: true, Issuer: s.OP.Issuer(), Client: authsvc.Client{ID: "app", Secret: arena.ClientSecret}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.inside.Close(context.WithoutCancel(t.Context())) })
	return s
}

// clocksDiffer is the twin: the clocks are off, and the log says by how much.
func (s *skewedSite) clocksDiffer(t *T) {
	t.Helper()
	ahead := regexp.MustCompile(`level=WARN msg="the clock of this machine[^\n]* store_ahead=(\S+)`)
	for i, p := range s.replicas {
		m := ahead.FindStringSubmatch(p.Logs.String())
		if skews[i] == 0 {
			if m != nil {
				t.Errorf("a correct clock: %s", m[0])
			}
			continue
		}
		if m == nil {
			t.Fatalf("the clock off by %v counts as correct\n%s", skews[i], p.Logs)
		}
		if d, err := time.ParseDuration(m[1]); err != nil || (d+skews[i]).Abs() > time.Second {
			t.Errorf("a clock of %v: %s, %v", skews[i], m[1], err)
		}
	}
}

// visitor returns a browser whose requests go to one replica after the other.
func (s *skewedSite) visitor() *browser.Browser {
	return browser.New(site, s.proxy.Transport("127.0.0.1"))
}

// person adds a new person to the provider.
func (s *skewedSite) person(t *T) idp.Person {
	t.Helper()
	s.people++
	name := fmt.Sprintf("person%d", s.people)
	p, err := s.OP.AddPerson(idp.Person{Sub: name, Name: name, Email: name + "@people.test", EmailVerified: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// turn moves nginx on by n replicas.
func (s *skewedSite) turn(t *T, n int) {
	t.Helper()
	v := s.visitor()
	for range n {
		if _, err := v.Get("/api/auth/csrf"); err != nil {
			t.Fatal(err)
		}
	}
}

// eachPair runs begin, then the function that it returns, with every pair of replicas
// for their first requests.
func (s *skewedSite) eachPair(t *T, begin func() (goOn func())) {
	t.Helper()
	for i := range s.replicas {
		for j := range s.replicas {
			s.turn(t, i)
			goOn := begin()
			s.turn(t, j)
			goOn()
			s.pairs++
		}
	}
}

// in checks that every replica shows the visitor as signed in with the address want,
// or not signed in for "".
func (s *skewedSite) in(t *T, v *browser.Browser, want, what string) {
	t.Helper()
	for range s.replicas {
		if got, err := v.Email(); err != nil || got != want {
			t.Errorf("%s: signed in as %q, want %q, %v", what, got, want, err)
		}
	}
}

// begin starts a sign-in and stops at the provider's answer.
func (s *skewedSite) begin(t *T, p idp.Person) (v *browser.Browser, back string) {
	t.Helper()
	v = s.visitor()
	back, err := v.Begin(s.OP, p.Sub)
	if err != nil {
		t.Fatal(err)
	}
	return v, back
}

func (s *skewedSite) signIn(t *T, p idp.Person) *browser.Browser {
	t.Helper()
	v, back := s.begin(t, p)
	if err := v.Open(back); err != nil {
		t.Fatal(err)
	}
	return v
}

// signInsAndTokens checks that sign-in attempts and sessions continue at any replica,
// and that a verifier with the right clock accepts the tokens of every replica.
func (s *skewedSite) signInsAndTokens(t *T) {
	t.Helper()
	verifier, err := bearer.New(bearer.Config{Issuer: site + "/api/auth", Audience: tokenAPI, HTTP: &http.Client{Transport: s.proxy.Transport("127.0.0.1")}})
	if err != nil {
		t.Fatal(err)
	}
	s.eachPair(t, func() func() {
		p := s.person(t)
		v, back := s.begin(t, p)
		return func() {
			if err := v.Open(back); err != nil {
				t.Error(err)
			}
			s.in(t, v, p.Email, "a sign-in")
			a, err := v.Post("/api/auth/token", "audience", tokenAPI)
			if err != nil {
				t.Fatal(err)
			}
			_, raw, _ := strings.Cut(a.Text, `"access_token":"`)
			raw, _, _ = strings.Cut(raw, `"`)
			if token, err := verifier.Verify(t.Context(), raw); err != nil || token.Email() != p.Email {
				t.Errorf("a token: %d %v", a.StatusCode, err)
			}
		}
	})
}

// handOvers checks that a session reaches a gate host, and ends there too.
func (s *skewedSite) handOvers(t *T) {
	t.Helper()
	s.eachPair(t, func() func() {
		p := s.person(t)
		v := s.signIn(t, p)
		return func() {
			address := skewedHost + "/"
			for range 6 {
				a := s.open(t, v, address)
				if a.StatusCode != http.StatusFound {
					if a.Text != "for "+p.Email {
						t.Errorf("handed over: %d %.200s", a.StatusCode, a.Text)
					}
					return
				}
				address = a.Location()
			}
			t.Errorf("not handed over: %s", address)
		}
	})
}

// open visits an address as a person does, without following redirects.
func (s *skewedSite) open(t *T, v *browser.Browser, address string) *browser.Answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document", "Accept": "text/html"} {
		r.Header.Set(name, value)
	}
	a, err := v.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// codes checks that a mailed code works at every replica.
func (s *skewedSite) codes(t *T) {
	t.Helper()
	s.eachPair(t, func() func() {
		s.people++
		address, v := fmt.Sprintf("mail%d@people.test", s.people), s.visitor()
		if _, err := v.Post("/api/auth/signin/email", "email", address); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		m, err := s.Box.Wait(ctx, func(m mailbox.Message) bool { return slices.Contains(m.To, address) && m.Code != "" })
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if a, err := v.Post("/api/auth/callback/email", "email", address, "code", m.Code); err != nil || a.StatusCode != http.StatusFound || strings.Contains(a.Location(), "error") {
				t.Errorf("a code: %v %v", a, err)
			}
			s.in(t, v, address, "by a code")
		}
	})
}

// revocations checks that a logout by the provider at one replica ends earlier
// sessions of every replica, and no later ones.
func (s *skewedSite) revocations(t *T) {
	t.Helper()
	s.eachPair(t, func() func() {
		p := s.person(t)
		before := s.signIn(t, p)
		return func() {
			token, err := s.OP.LogoutToken("app", p.Sub)
			if err != nil {
				t.Fatal(err)
			}
			if a, err := s.visitor().Form("/api/auth/backchannel-logout/op", url.Values{"logout_token": {token}}); err != nil || a.StatusCode != http.StatusOK {
				t.Errorf("%+v, %v", a, err)
			}
			out := time.Now()
			after := s.signIn(t, p)
			for n := 0; n < len(s.replicas); n++ {
				who, err := before.Email()
				if err != nil {
					t.Fatal(err)
				}
				if who == "" {
					continue
				}
				if s.strategy == "database" || time.Since(out) > 15*time.Second { // 2 s, on a busy machine
					t.Errorf("signed in as %s, %v after it was ended", who, time.Since(out))
					return
				}
				n = -1
				time.Sleep(50 * time.Millisecond)
			}
			s.in(t, after, p.Email, "a sign-in after a revocation")
		}
	})
}

// refresh gets provider tokens for people at every replica. They must be renewed when
// due, not earlier. The returned function checks that.
func (s *skewedSite) refresh(t *T) (later func()) {
	t.Helper()
	var renewed atomic.Int64
	fault := tokensFault(func(w http.ResponseWriter, _ *http.Request) {
		renewed.Add(1)
		io.WriteString(w, `{"access_token":"renewed","refresh_token":"rt-1","token_type":"Bearer","expires_in":3600}`) //nolint:errcheck // the client may be gone
	})
	fault.TokenAnswer = func(a map[string]any) {
		a["refresh_token"], a["expires_in"] = "rt-0", int((time.Minute + skewedDue).Seconds()) // they are renewed a minute early
	}
	s.OP.SetFault(fault)
	begun, ids := time.Now(), []string(nil)
	token := func(id string) string {
		t.Helper()
		got, err := s.inside.AccessToken(t.Context(), id, "op", nil)
		if err != nil {
			t.Error(err)
		}
		return got
	}
	for i := range s.replicas {
		s.turn(t, i)
		p := s.person(t)
		s.signIn(t, p)
		u, err := s.store.GetUserByEmail(t.Context(), p.Email)
		if err != nil {
			t.Fatal(err)
		}
		if got := token(u.ID); got == "renewed" && time.Since(begun) < skewedDue {
			t.Errorf("a token was renewed %v after it was made", time.Since(begun))
		}
		ids = append(ids, u.ID)
	}
	last := time.Now()
	s.OP.SetFault(idp.Fault{Intercept: fault.Intercept})
	return func() {
		t.Helper()
		time.Sleep(time.Until(last.Add(skewedDue + 2*time.Second))) // token times are whole seconds
		for _, id := range ids {
			if got := token(id); got != "renewed" {
				t.Errorf("%q is not renewed, %v after it was made", got, time.Since(last))
			}
		}
		if n := renewed.Load(); n != int64(len(ids)) {
			t.Errorf("%d of %d tokens were renewed", n, len(ids))
		}
	}
}

// sliding checks that a session in use continues at every replica, and that an idle
// one ends at all of them.
func (s *skewedSite) sliding(t *T) {
	t.Helper()
	p := s.person(t)
	v := s.signIn(t, p)
	for end := time.Now().Add(skewedMaxAge * 4 / 3); time.Now().Before(end); time.Sleep(time.Second) {
		if got, err := v.Email(); err != nil || got != p.Email {
			t.Fatalf("in use, and signed in as %q, %v", got, err)
		}
	}
	used, u := time.Now(), arena.MustURL(t, site+"/api/auth")
	cookies := v.Client.Jar.Cookies(u) // including those that the browser would drop
	time.Sleep(time.Until(used.Add(skewedMaxAge + 3*time.Second)))
	for range s.replicas {
		w := s.visitor()
		for _, c := range cookies {
			c.Path, c.Secure = "/", true
		}
		w.Client.Jar.SetCookies(u, cookies)
		if got, err := w.Email(); err != nil || got != "" {
			t.Errorf("unused for %v, and signed in as %q, %v", time.Since(used), got, err)
		}
	}
}
