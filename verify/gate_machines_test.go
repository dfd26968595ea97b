package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/bearer"
	"authsvc/internal/seal/personaltoken"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
	"authsvc/internal/test/proxytest"
)

// gate25 checks that a personal access token lets a program pass where a rule allows
// it, only at its hosts and only while it is valid, with each interface, and that the
// token never reaches the program behind the gate, also through each proxy as documented.
// The same holds for a token of POST token.
func gate25(t *T) {
	gateTokensThrough(t)
	t.CombinedStores(func(t *T, kind stores.Kind) {
		t.Strategies(func(t *T, strategy string) { gateByToken(t, kind, strategy) })
	})
}

// gateTokensThrough sends tokens to a program behind each proxy. The program gets other
// credentials as they are, and no header if there are none.
func gateTokensThrough(t *T) {
	w := t.Enter(func(c *authsvc.Config) {
		c.URL, c.PersonalTokens.Enabled = site, true
		c.Tokens.Audiences = []authsvc.Audience{{ID: site}, {ID: tokenAPI}}
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		tokens := authsvc.Allow{AnyOf: []authsvc.Condition{{Tokens: true}}}
		c.Gate.Hosts = []authsvc.GateHost{{Origin: site, Rules: []authsvc.GateRule{{Match: "/public/", Allow: authsvc.Allow{Anyone: true}}, {Match: "/api/", Allow: tokens}}}}
	})
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	eachGateProxy(t, func(t *T, program string) {
		s := gatedBy(t, program, server)
		ada := s.person()
		if err := ada.SignIn(w.OP, "ada"); err != nil {
			t.Fatal(err)
		}
		u, err := w.Store.GetUserByAccount(t.Context(), "op", "ada")
		if err != nil {
			t.Fatal(err)
		}
		personal, _, err := w.CreatePersonalToken(t.Context(), u.ID, authsvc.PersonalTokenRequest{Name: program, Hosts: []string{site}})
		if err != nil {
			t.Fatal(err)
		}
		access, others := issuedTo(t, ada, site), issuedTo(t, ada, tokenAPI)
		for _, c := range []struct{ name, target, sent, arrives string }{
			{"a personal access token", "/api/x", "Bearer " + personal, ""},
			{"an access token", "/api/x", "Bearer " + access, ""},
			{"a token for another program", "/public/x", "Bearer " + others, "Bearer " + others},
			{"a password of the program", "/public/x", "Basic YTpi", "Basic YTpi"},
		} {
			g, asked := got(t, s.raw(t, nil, "GET "+c.target, "Authorization: "+c.sent))
			if all := strings.Join(g.Header["Authorization"], "|"); !asked || all != c.arrives {
				t.Errorf("%s: asked %t, the program gets %q", c.name, asked, all)
			}
			if name := g.Header.Get("X-Auth-User-Id"); (name == u.ID) != (c.arrives == "") {
				t.Errorf("%s: the program learns of %q", c.name, name)
			}
		}
		if g, asked := got(t, s.raw(t, nil, "GET /public/x")); !asked || len(g.Header["Authorization"]) > 0 && program != proxytest.Traefik {
			t.Errorf("without credentials: asked %t, the program gets %q", asked, g.Header["Authorization"])
		}
		for _, line := range []string{"Authorization: Bearer " + personal[:40], "Authorization: Bearer " + access + "A", "Authorization: Basic YTpi"} {
			if a := s.raw(t, nil, "GET /api/x", line); answeredByProgram(a) || a.StatusCode != http.StatusUnauthorized {
				t.Errorf("%.30s…: %d\n%.300s", line, a.StatusCode, a.Text)
			}
		}
	})
}

// issuedTo returns a token of POST token for an audience.
func issuedTo(t *T, b *browser.Browser, audience string) string {
	t.Helper()
	a, err := b.Post("/api/auth/token", "audience", audience)
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	if err != nil || json.Unmarshal([]byte(a.Text), &answer) != nil || answer.AccessToken == "" {
		t.Fatalf("%v %+v", err, a)
	}
	return answer.AccessToken
}

// pass is the answer of gate25's program to a request that passes.
const pass = "for ada@example.com with []"

func gateByToken(t *T, kind stores.Kind, strategy string) {
	f := newGateFront(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "for %s with %q", r.Header.Get("X-Auth-Email"), r.Header["Authorization"])
	}, func(c *authsvc.Config) {
		c.Adapter, c.Session.Strategy, c.PersonalTokens.Enabled = kind.Open(t), authsvc.Strategy(strategy), true
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		tokens := authsvc.Allow{AnyOf: []authsvc.Condition{{Domains: []string{"example.com"}, Tokens: true}}}
		c.Gate.Hosts[0].Rules = append(c.Gate.Hosts[0].Rules, authsvc.GateRule{Match: "/api/", Allow: tokens}, authsvc.GateRule{Match: "/api/people/"})
	})
	ada := f.signedIn(t)
	u, err := f.Store.GetUserByAccount(t.Context(), "op", "ada")
	if err != nil {
		t.Fatal(err)
	}
	made := func(host string) (string, authsvc.PersonalToken) {
		token, info, err := f.CreatePersonalToken(t.Context(), u.ID, authsvc.PersonalTokenRequest{Name: "nightly", Hosts: []string{host}})
		if err != nil {
			t.Fatal(err)
		}
		return token, info
	}
	good, info := made(arena.Origin)
	elsewhere, _ := made("https://wiki.example")
	with := func(token string) string { return "Authorization: Bearer " + token }
	gatePasses(t, f, with(good))
	session := "Cookie: " + f.SessionCookie() + "="
	for name, tt := range map[string]struct {
		target string
		lines  []string
		status int
	}{
		"for another host":                        {"/api/x", []string{with(elsewhere)}, 403},
		"for another host that admits everyone":   {"/open/", []string{with(elsewhere)}, 403},
		"where only people may pass":              {"/dash", []string{with(good)}, 403},
		"below a path where only people may pass": {"/api/people/", []string{with(good)}, 403},
		"in another spelling":                     {"/api/%2e%2e/dash", []string{with(good)}, 403},
		"where its domain does not match":         {"/ops/", []string{with(good)}, 403},
		"of no user":                              {"/api/x", []string{with(personaltoken.New())}, 401},
		"cut off":                                 {"/api/x", []string{with(good[:30])}, 401},
		"in capitals":                             {"/api/x", []string{with(strings.ToUpper(good))}, 401},
		"twice":                                   {"/api/x", []string{with(good), with(good)}, 400},
		"beside a password":                       {"/api/x", []string{with(good), "Authorization: Basic YTpi"}, 400},
		"beside a session":                        {"/api/x", []string{with(good), session + ada.Cookies[f.SessionCookie()]}, 400},
		"as a session":                            {"/api/x", []string{session + good}, 401},
		"in another header":                       {"/api/x", []string{"X-Auth-Token: " + good, "X-Forwarded-Authorization: Bearer " + good, "X-Auth-Email: ada@example.com"}, 401},
		"in the address":                          {"/api/x?access_token=" + good, nil, 401},
		"with the scheme of a client":             {"/api/x", []string{"Authorization: Token " + good}, 401},
	} {
		if status, _, body := f.raw(t, nil, "GET", tt.target, tt.lines...); status != tt.status || strings.Contains(body, "for ") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if status, _, body := f.raw(t, ada, "GET", "/api/x"); status != 200 || body != pass {
		t.Errorf("twin: with her session: %d %s", status, body)
	}
	f.Ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
	if status, _, _ := f.raw(t, nil, "GET", "/api/x", with(good)); status != 503 {
		t.Errorf("without the store: %d", status)
	}
	f.Ledger.BreakAt(nil)
	gatePasses(t, f, with(good))
	if err := f.RevokePersonalToken(t.Context(), u.ID, info.ID); err != nil {
		t.Fatal(err)
	}
	other, _ := made(arena.Origin)
	gatePasses(t, f, with(other))
	at := time.Now()
	if err := f.Store.SetPerson(t.Context(), u.ID, adapter.PersonUpdate{Blocked: &at}, nil); err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{"revoked": good, "of a blocked user": other} {
		if status, _, body := f.raw(t, nil, "GET", "/api/x", with(token)); status != 401 {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	if strings.Contains(f.Logs.String(), good) {
		t.Error("the log has the token")
	}
}

// gatePasses makes a request with an Authorization line through each interface.
func gatePasses(t *T, f *gateFront, line string) {
	t.Helper()
	if status, _, body := f.raw(t, nil, "GET", "/api/x", line); status != 200 || body != pass {
		t.Errorf("twin: %d %s", status, body)
	}
	for _, way := range []string{"forward-auth", "auth-request", "ext-authz/api/x"} {
		status, header, _ := f.raw(t, nil, "GET", "/api/auth/gate/"+way, line, "X-Forwarded-Method: GET", "X-Forwarded-Host: app.test", "X-Forwarded-Uri: /api/x")
		if status != 200 || header.Get("X-Auth-Email") != "ada@example.com" {
			t.Errorf("twin: %s: %d %v", way, status, header)
		}
	}
}

// gate26 checks that the assertion names the user only to the program that it is for,
// that no client can make one, and that it gives no access here.
func gate26(t *T) {
	t.CombinedStores(func(t *T, kind stores.Kind) {
		t.Strategies(func(t *T, strategy string) { gateAsserts(t, kind, strategy) })
	})
}

func gateAsserts(t *T, kind stores.Kind, strategy string) {
	f := newGateFront(t, func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			if strings.EqualFold(strings.ReplaceAll(name, "_", "-"), "X-Auth-Assertion") {
				fmt.Fprint(w, strings.Join(values, "|"))
			}
		}
	}, func(c *authsvc.Config) {
		c.Adapter, c.Session.Strategy = kind.Open(t), authsvc.Strategy(strategy)
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		c.PersonalTokens.Enabled, c.Tokens.Audiences = true, []authsvc.Audience{{ID: tokenAPI}}
		c.Gate.Headers.Assertion = []string{"X-Auth-Assertion"}
		c.Gate.Hosts = append(c.Gate.Hosts, authsvc.GateHost{Origin: arena.Origin + ":8443"})
	})
	ada, grace := f.signedIn(t), f.Browser()
	grace.SignIn(f.OP, "grace")
	ask := func(b *arena.Browser, lines ...string) string {
		status, _, body := f.raw(t, b, "GET", "/dash", lines...)
		if status != 200 {
			t.Fatalf("%d %s", status, body)
		}
		return body
	}
	here, there := tokenVerifier(t, f, arena.Origin), tokenVerifier(t, f, arena.Origin+":8443")
	subject := func(token string) string {
		v, err := here.Verify(t.Context(), token)
		if err != nil {
			t.Errorf("the program refuses %q: %v", token, err)
			return ""
		}
		return v.Subject
	}
	first := ask(ada)
	if got, hers := subject(first), f.Person(t, ada); got == "" || got != hers {
		t.Errorf("the program receives %q, she is %q", got, hers)
	}
	if got := subject(ask(grace)); got != f.Person(t, grace) || got == subject(first) {
		t.Errorf("another user is passed on as %q", got)
	}
	for _, lines := range [][]string{{"X-Auth-Assertion: forged"}, {"X_Auth_Assertion: forged"}, {"x-auth_assertion: forged", "X-Auth-Assertion: " + ask(grace)}, {"Connection: X-Auth-Assertion"}} {
		if got := subject(ask(ada, lines...)); got != f.Person(t, ada) {
			t.Errorf("%q: the program receives %q", lines, got)
		}
		if status, _, body := f.raw(t, nil, "GET", "/open/", lines...); status != 200 || body != "" {
			t.Errorf("%q without a session: %d %s", lines, status, body)
		}
	}
	status, header, _ := f.raw(t, ada, "GET", "/api/auth/gate/forward-auth", "X-Forwarded-Method: GET", "X-Forwarded-Host: app.test:8443", "X-Forwarded-Uri: /")
	if v, err := there.Verify(t.Context(), header.Get("X-Auth-Assertion")); err != nil || v.Subject != f.Person(t, ada) {
		t.Errorf("twin: at another host: %d %v", status, err)
	}
	for name, v := range map[string]*bearer.Verifier{"another host": there, "an audience": tokenVerifier(t, f, tokenAPI)} {
		if _, err := v.Verify(t.Context(), first); !errors.Is(err, bearer.ErrAudience) {
			t.Errorf("%s accepts it: %v", name, err)
		}
	}
	for _, line := range []string{"Authorization: Bearer " + first, "X-Auth-Assertion: " + first, "Cookie: " + f.SessionCookie() + "=" + first} {
		if status, _, _ := f.raw(t, nil, "GET", "/dash", line); status != http.StatusUnauthorized {
			t.Errorf("%.30s: %d", line, status)
		}
	}
	if kind.Name == "memory" {
		tokenIsNoSession(t, f.World, tokenPlaces(f.World), tokenReaders(f.World), first)
	}
	ada.Post("/api/auth/signout")
	if status, _, body := f.raw(t, ada, "GET", "/dash"); status != http.StatusUnauthorized || strings.Contains(body, "ey") {
		t.Errorf("after the sign-out: %d %s", status, body)
	}
}

// explainedYAML has rules of every kind, for gate27.
const explainedYAML = `
        - {match: /fresh/, allow: {max_age: 1ns}}
        - {match: /none/, allow: nobody}
        - {match: /net/, allow: {networks: [10.0.0.0/8]}}
        - {match: "POST /by/", allow: {providers: [op], domains: [example.com]}}
        - {match: /cel/, allow: {when: 'request.method == "GET" && user.email_verified'}}
        - {match: /cel/broken/, allow: {when: 'session.claims.level > 3'}}`

// gate27 checks that authsvc rules explain agrees with the gate about every request,
// however its path is written.
func gate27(t *T) {
	app := newGatedProgram(t)
	s := &gatedSite{Neighbours: process.NewNeighbours(t), program: "upstream", app: app}
	s.Process = process.Serve(t, s.YAML(t.compatLine()+"gate:\n  hosts:\n    - origin: \"{origin}\"\n      upstream: "+app.URL+
		"\n      rules:\n        - {match: /public/, allow: anyone}\n        - {match: /admin/, allow: {emails: [ada@example.com]}}"+explainedYAML+"\n"), "AUTHSVC_STORAGE_URL=memory:")
	s.origin = s.URL
	people := map[string]*browser.Browser{"": s.person(), "ada@example.com": s.signedIn(t, "ada"), "an-id": s.signedIn(t, "alan")} // alan has no verified address
	seen, asked := map[string]int{}, 0
	for _, request := range []string{"GET /dash", "GET /public/a", "GET /public/%2e%2e/Admin/x", "GET /admin;a=b/x", "POST /by/x", "GET /by/x", "GET /none/x", "GET /fresh/", "GET /net/", "GET /cel/x",
		"POST /cel/x", "GET /cel/broken/", "GET /%zz", "GET /%25252541/../public//admin/?a=b"} {
		method, target, _ := strings.Cut(request, " ")
		for who, b := range people {
			verdict := explainedAs(t, s, who, method, target)
			a := s.raw(t, b, method+" "+target)
			want := map[string]int{"allowed": 200, "sign_in": 401, "reauthenticate": 401, "forbidden": 403, "malformed": 400}[verdict]
			if a.StatusCode != want || answeredByProgram(a) != (verdict == "allowed") || strings.Contains(a.Text, "reauthentication_required") != (verdict == "reauthenticate") {
				t.Errorf("%s by %q is %s, and the gate answers %d %.300s", request, who, verdict, a.StatusCode, a.Text)
			}
			seen[verdict]++
			asked++
		}
	}
	for _, verdict := range []string{"allowed", "sign_in", "reauthenticate", "forbidden", "malformed"} {
		if seen[verdict] == 0 {
			t.Errorf("nothing is %s", verdict)
		}
	}
	if out, code := s.Command("rules", "explain", "--url", "https://elsewhere.example/", "--json"); code != 0 || !strings.Contains(out, `"verdict":"not_served"`) {
		t.Errorf("another host: %d %s", code, out)
	}
	t.Figure("%d requests explained and made", asked)
}

// explainedAs returns the verdict of authsvc rules explain.
func explainedAs(t *T, s *gatedSite, who, method, target string) string {
	t.Helper()
	args := []string{"rules", "explain", "--json", "--ip", "127.0.0.1", "--method", method, "--url", s.origin + target}
	if who != "" {
		args = append(args, "--user", who, "--provider", "op", "--age", "1m")
	}
	out, code := s.Command(args...)
	var e struct{ Verdict string }
	if err := json.Unmarshal([]byte(out[max(0, strings.LastIndexByte(strings.TrimSpace(out), '\n')):]), &e); code != 0 || err != nil {
		t.Fatalf("%q: %d %v\n%s", args, code, err, out)
	}
	return e.Verdict
}
