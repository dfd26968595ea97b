package verify

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/proxytest"
)

// gateLong checks that a target too long to be checked does not arrive.
func gateLong(t *T, s *gatedSite) {
	ada := s.signedIn(t, "ada")
	sizes := map[int]bool{1 << 10: true, 9 << 10: false, 60 << 10: false}
	if s.proxy == nil {
		delete(sizes, 60<<10) // httpwire07 covers that: the connection ends
	}
	for size, passes := range sizes {
		a := s.raw(t, ada, "GET /dash?"+strings.Repeat("a", size), "Accept: text/html", "Connection: close")
		refused := a.StatusCode >= 400 || a.StatusCode == 0 // HAProxy closes before it has received everything
		if _, asked := got(t, a); asked != passes || !passes && !refused {
			t.Errorf("a target of %d bytes: %d\n%.300s", size, a.StatusCode, a.Text)
		}
	}
}

// gateEscapes checks that a target with an invalid escape does not arrive, even on a
// path that anyone may see.
func gateEscapes(t *T, s *gatedSite) {
	ada := s.signedIn(t, "ada")
	for _, end := range []string{"%", "%2", "%zz", "%2z", "a%00b", "%u0041"} {
		for _, path := range []string{"/dash/", "/public/"} {
			a := s.raw(t, ada, "GET "+path+end, "Accept: text/html", "Connection: close")
			if answeredByProgram(a) || a.StatusCode < 400 {
				t.Errorf("%s%s: %d\n%.300s", path, end, a.StatusCode, a.Text)
			}
		}
	}
	if a := s.raw(t, ada, "GET /public/%41?%zz", "Connection: close"); !answeredByProgram(a) {
		t.Errorf("twin: an escape that is valid: %d\n%.300s", a.StatusCode, a.Text)
	}
}

// gateStopped checks that no request passes while authsvc is down.
func gateStopped(t *T, s *gatedSite) {
	if s.proxy == nil {
		return // authsvc itself is the proxy
	}
	ada := s.signedIn(t, "ada")
	if _, asked := got(t, s.fetch(t, ada, "GET", "/dash", "")); !asked {
		t.Error("twin: ada is not shown the program")
	}
	s.Kill()
	for _, target := range []string{"/dash", "/public/x", "/api/auth/session"} {
		for _, b := range []*browser.Browser{ada, s.person()} {
			a := s.fetch(t, b, "GET", target, "", "Accept", "text/html")
			if _, asked := got(t, a); asked || a.StatusCode < 500 {
				t.Errorf("%s while authsvc is down: %d\n%.300s", target, a.StatusCode, a.Text)
			}
		}
	}
	t.Figure("%s: %d while authsvc is down", s.program, s.fetch(t, ada, "GET", "/dash", "").StatusCode)
}

// renewsAlways configures cookie sessions that each check renews.
var renewsAlways = []string{"gate:", "session: {strategy: jwt, update_age: 0s}\ngate:"}

// gateCookiesThrough checks that the program gets the browser's cookies except ours,
// and that its own cookies arrive, together with the session's new cookie at proxies
// that pass it on, and with nothing else.
func gateCookiesThrough(t *T) {
	const name = "__Host-authsvc.session"
	look := func(t *T, s *gatedSite, renews bool) {
		name := name
		if s.proxy == nil {
			name = strings.TrimPrefix(name, "__Host-") // over http
		}
		ada := s.signedIn(t, "ada")
		a := s.fetch(t, ada, "GET", "/cookie", "", "Cookie", "theme=dark")
		g, asked := got(t, a)
		if sent := g.Header.Get("Cookie"); !asked || strings.Contains(sent, "authsvc.") || !strings.Contains(sent, "theme=dark") {
			t.Errorf("%d, the program gets the cookies %q", a.StatusCode, sent)
		}
		set := a.Header["Set-Cookie"]
		if !slices.Contains(set, theirCookie) {
			t.Errorf("what the program set does not arrive: %q", set)
		}
		lines := map[bool]int{false: 1, true: 2}[renews]
		if slices.ContainsFunc(set, func(line string) bool { return strings.HasPrefix(line, name+"=") }) != renews || len(set) != lines {
			t.Errorf("the session is renewed by %q", set)
		}
	}
	behindGate(t, gateTune{yaml: renewsAlways}, func(t *T, s *gatedSite) {
		look(t, s, s.program != proxytest.Traefik)
	})
	behindGate(t, gateTune{}, func(t *T, s *gatedSite) { look(t, s, false) })
	if proxytest.Missing(proxytest.Traefik) != "" {
		return
	}
	said := "    addAuthCookiesToResponse: [" + name + "]\n"
	if page := proxytest.Text(t, gatePage(proxytest.Traefik)); !strings.Contains(page, strings.TrimSpace(said)) {
		t.Errorf("the page does not say %s", said)
	}
	t.Run("traefik that passes cookies on", func(t *T) {
		const at = "      forwardAuth:\n"
		look(t, startGated(t, proxytest.Traefik, gateTune{yaml: renewsAlways, proxy: []string{at, at + "    " + said}}), true)
	})
}

// theirCookie is the cookie that a program sets at /cookie.
const theirCookie = "theirs=1; Path=/; HttpOnly"

// gatedBy starts a program and a proxy that asks an authsvc of this process.
func gatedBy(t *T, program string, authsvc *httptest.Server) *gatedSite {
	t.Helper()
	app := newGatedProgram(t)
	config, _ := gateFiles(t, program)
	s := &gatedSite{program: program, origin: site, app: app}
	s.proxy = proxytest.Start(t, program, proxytest.Options{Site: config, Backend: authsvc.Listener.Addr().String(),
		Replace: []string{"127.0.0.1:8080", app.Listener.Addr().String(), "/etc/haproxy/authsvc.lua", gateLua(t, nil)}})
	return s
}

// gateSplitSession checks that a session split over two cookies survives checks that
// would renew it: a proxy may pass on only one of the two, which would destroy the
// session. GET session renews it, through the same proxy. The same holds for a session
// that grows to two cookies or shrinks to one.
func gateSplitSession(t *T) {
	const pads = 3000 // more than one cookie, less than the headers that the documented proxies accept
	var pad atomic.Int64
	w := t.Enter(func(c *authsvc.Config) {
		c.URL, c.Session.Strategy, c.Session.UpdateAge = site, "jwt", -1
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		c.Gate.Hosts = []authsvc.GateHost{{Origin: site}}
		c.Callbacks.JWT = func(_ context.Context, p authsvc.JWTParams) (authsvc.Claims, error) {
			p.Claims["pad"] = strings.Repeat("x", int(pad.Load()))
			return p.Claims, nil
		}
	})
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	eachGateProxy(t, func(t *T, program string) {
		s := gatedBy(t, program, server)
		for name, c := range map[string]struct{ before, after int64 }{
			"one cookie": {0, 0}, "two cookies": {pads, pads}, "one that becomes two": {0, pads}, "two that become one": {pads, 0},
		} {
			pad.Store(c.before)
			ada := s.person()
			if err := ada.SignIn(w.OP, "ada"); err != nil {
				t.Fatal(err)
			}
			pad.Store(c.after)
			before := s.cookies(ada)
			for i := range 4 {
				a := s.fetch(t, ada, "GET", "/dash", "", "Accept", "text/html")
				if _, asked := got(t, a); !asked {
					t.Fatalf("%s: check %d: %d, cookies %v", name, i, a.StatusCode, a.Header["Set-Cookie"])
				}
			}
			if renewed := s.cookies(ada) != before; renewed && name != "one cookie" || !renewed && name == "one cookie" && program != proxytest.Traefik {
				t.Errorf("%s: renewed %v", name, renewed)
			}
			before = s.cookies(ada)
			if email, err := ada.Email(); email != "ada@example.com" || err != nil || s.cookies(ada) == before {
				t.Errorf("%s: GET session: %q, %v", name, email, err)
			}
			if _, asked := got(t, s.fetch(t, ada, "GET", "/dash", "")); !asked {
				t.Errorf("%s: signed out after the renewal", name)
			}
		}
	})
}

// gateStoreAway checks that while sessions cannot be read, no request with a session
// cookie passes, through each proxy as documented, and that the log has the cause. A
// program that is down is an error of the proxy, not a question of the sign-in.
func gateStoreAway(t *T) {
	ledger := arena.NewLedger(memory.New())
	w := t.Enter(func(c *authsvc.Config) {
		c.URL, c.Adapter = site, ledger
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
		c.Gate.Hosts = []authsvc.GateHost{{Origin: site, Rules: []authsvc.GateRule{{Match: "/public/", Allow: authsvc.Allow{Anyone: true}}}}}
	})
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	asked := false // none of the programs is asked at the smallest scale
	eachGateProxy(t, func(t *T, program string) {
		asked = true
		s := gatedBy(t, program, server)
		ada := s.person()
		if err := ada.SignIn(w.OP, "ada"); err != nil {
			t.Fatal(err)
		}
		ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
		defer ledger.BreakAt(nil)
		for _, target := range []string{"/dash", "/public/x"} {
			for _, accept := range []string{"text/html", "application/json"} {
				if a := s.fetch(t, ada, "GET", target, "", "Accept", accept); a.StatusCode != http.StatusServiceUnavailable || answeredByProgram(a) {
					t.Errorf("%s while the store is down: %d\n%.300s", target, a.StatusCode, a.Text)
				}
			}
		}
		if _, asked := got(t, s.fetch(t, s.person(), "GET", "/public/x", "")); !asked {
			t.Error("twin: without a session, a request reaches the store")
		}
		ledger.BreakAt(nil)
		if _, asked := got(t, s.fetch(t, ada, "GET", "/dash", "")); !asked {
			t.Error("twin: once the store is back ada is not shown the program")
		}
		s.app.CloseClientConnections()
		s.app.Close()
		for _, accept := range []string{"text/html", "application/json"} {
			if a := s.fetch(t, ada, "GET", "/dash", "", "Accept", accept); a.StatusCode < 502 || a.StatusCode > 504 {
				t.Errorf("while the program is down: %d\n%.300s", a.StatusCode, a.Text)
			}
		}
		if a := s.fetch(t, s.person(), "GET", "/dash", "", "Accept", "text/html"); a.StatusCode != http.StatusFound {
			t.Errorf("while the program is down, signed out: %d\n%.300s", a.StatusCode, a.Text)
		}
	})
	if text := w.Logs.String(); asked && (!strings.Contains(text, "cannot read the session") || !strings.Contains(text, arena.ErrBroken.Error())) {
		t.Errorf("the log does not have the cause:\n%s", text)
	}
}
