package verify

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/proxytest"
)

// gate32 tests Express, which ignores case in paths, and treats an escaped slash as
// part of a segment.
func gate32(t *T) {
	express := startExpress(t)
	s := express.gate(t)
	ada := s.signedIn(t, "ada")
	believed := 0
	attacks := []string{"/Admin/a%2Fb", "/ADMIN/a%2Fb", "/admin/a%2fb", "/aDmIn/a%2F%2e", "/Admin/a", "/ADMIN/a;b", "/%41DMIN/a%2Fb"}
	for _, target := range attacks {
		if _, _, body := exchangeRaw(t, express.addr, "GET "+target+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); body == "admin" {
			believed++
		}
		if a := s.raw(t, ada, "GET "+target, "Connection: close"); answeredByProgram(a) {
			t.Errorf("%s: %d %.100s", target, a.StatusCode, a.Text)
		}
	}
	if believed < 5 {
		t.Errorf("Express reads %d of %d as the closed path: too few to show anything", believed, len(attacks))
	}
	if a := s.raw(t, ada, "GET /open/thing", "Connection: close"); a.Text != "shown" {
		t.Errorf("twin: %d %.100s", a.StatusCode, a.Text)
	}
	t.Figure("Express reads %d of %d spellings as the closed path", believed, len(attacks))
}

// gate33 checks that a fully open host opens nothing of another host's program,
// whichever of the host names in a request names it.
func gate33(t *T) {
	more := []string{"  hosts:\n", "  hosts:\n    - origin: https://open.example.com\n      rules: [{match: /, allow: anyone}]\n"}
	eachGateProxy(t, func(t *T, program string) {
		oneHostOfTwo(t, startGated(t, program, gateTune{yaml: more}))
		if program != "haproxy" {
			return
		}
		other := newGatedProgram(t)
		page := proxytest.Text(t, gatePage(program))
		tune := gateTune{yaml: more}
		for _, add := range []struct{ to, text string }{ // as the page says about a further host
			{"    http-request deny unless app\n", "    acl wiki req.fhdr(host) -i wiki.example.com\n    http-request deny unless app or wiki\n    http-request set-header Host wiki.example.com if wiki\n"},
			{"    use_backend app if app\n", "    use_backend wiki if wiki\n    use_backend app if app\n"},
		} {
			for line := range strings.Lines(add.text) {
				said := strings.TrimPrefix(strings.TrimSpace(line), "http-request ")
				if said = strings.TrimPrefix(said, "deny "); !strings.Contains(page, said) {
					t.Errorf("the page does not say %s", said)
				}
			}
			tune.proxy = append(tune.proxy, add.to, strings.ReplaceAll(add.text, "wiki", "open"))
		}
		tune.proxy = append(tune.proxy, "\nbackend app\n", "\nbackend open\n    mode http\n    timeout connect 5s\n    timeout server 60s\n    server one "+other.Listener.Addr().String()+"\n\nbackend app\n")
		s := startGated(t, program, tune)
		oneHostOfTwo(t, s)
		if a := s.raw(t, nil, "GET /any", "Host: Open.example.com", "Connection: close"); !answeredByProgram(a) || len(other.requests()) == 0 {
			t.Errorf("twin: the other program is not shown: %d", a.StatusCode)
		}
	})
}

// oneHostOfTwo asks for a closed page of the program at app.example.com under the name
// of an open host.
func oneHostOfTwo(t *T, s *gatedSite) {
	t.Helper()
	for _, target := range []string{"/admin/x", "https://app.example.com/admin/x", "https://open.example.com/admin/x", "http://open.example.com/admin/x"} {
		for _, lines := range [][]string{
			{"Host: app.example.com"}, {"Host: open.example.com"}, {"Host: open.example.com:443"}, {"Host: OPEN.example.com"}, {"Host: app.example.com", "X-Forwarded-Host: open.example.com"},
			{"Host: app.example.com", "Forwarded: host=open.example.com", "X-Host: open.example.com", "X-Original-Host: open.example.com"},
			{"Host: app.example.com,open.example.com"}, {"Host: app.example.com, open.example.com"}, {"Host: open.example.com,app.example.com"}, {"Host: open.example.com", "Host: app.example.com"},
		} {
			s.raw(t, nil, "GET "+target, append(lines, "Connection: close")...)
			if shown := s.app.requests(); len(shown) > 0 {
				t.Fatalf("%s, %q: a signed-out client is shown %s", target, lines, shown)
			}
		}
	}
	if _, asked := got(t, s.raw(t, nil, "GET /public/x", "Connection: close")); !asked {
		t.Error("twin: an open path is not shown")
	}
}

// gate34 checks that clients that send bodies a byte at a time do not block the
// service's routes or the programs for long. 96 connections can be open.
func gate34(t *T) {
	app := newGatedProgram(t)
	s := (&realProgram{app.Listener.Addr().String()}).gate(t, "prlimit", "--nofile=128:128")
	if a := s.raw(t, nil, "GET /open/x", "Connection: close"); !answeredByProgram(a) {
		t.Fatalf("twin: %d without slow ones", a.StatusCode)
	}
	for range t.Scale("slow bodies", 150, 600, 1000) {
		c := rawDial(t, s.Addr)
		io.WriteString(c, "POST /open/x HTTP/1.1\r\nHost: "+s.host()+"\r\nContent-Length: 200000\r\n\r\n") //nolint:errcheck // it may be refused
		go trickle(c, "x", 10*time.Second)
	}
	answered := func(target string, good func(status int, header http.Header) bool) time.Duration {
		for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
			status, header, _ := exchangeRaw(t, s.Addr, "GET "+target+" HTTP/1.1\r\nHost: "+s.host()+"\r\nConnection: close\r\n\r\n")
			if good(status, header) {
				return time.Since(began)
			}
			if time.Since(began) > patience {
				t.Fatalf("%s: %d beside slow bodies", target, status)
			}
		}
	}
	session := answered("/api/auth/session", func(status int, _ http.Header) bool { return status == http.StatusOK })
	program := answered("/open/x", func(_ int, header http.Header) bool { return header.Get("X-Program") != "" })
	t.Figure("session after %.1f s, the program after %.1f s", session.Seconds(), program.Seconds())
}

// gate35 checks that informational responses before a program's answer do not affect
// that answer.
func gate35(t *T) {
	f := newGateFront(t, func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			switch strings.NewReplacer("_", "-", ".", "-").Replace(strings.ToLower(name)) {
			case "x-original-url", "x-rewrite-url", "x-original-host", "x-host", "proxy":
				fmt.Fprintln(w, name, values)
				return
			}
		}
		w.Header().Set("Link", "</style.css>; rel=preload")
		w.Header().Set("X-Early", "1")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("X-Early")
		io.WriteString(w, "late") //nolint:errcheck // the client shows it
	}, func(c *authsvc.Config) { c.Session.Strategy, c.Session.UpdateAge = authsvc.StrategyJWT, -1 })
	ada := f.signedIn(t)
	c := rawDial(t, f.addr)
	defer c.Close()
	var cookies []string
	for name, v := range ada.Cookies {
		cookies = append(cookies, name+"="+v)
	}
	io.WriteString(c, "GET /dash HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\nCookie: "+strings.Join(cookies, "; ")+"\r\n\r\n") //nolint:errcheck // the answer shows it
	in := bufio.NewReader(c)
	early, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	if early.StatusCode != http.StatusEarlyHints || early.Header.Get("Link") == "" || len(early.Header) != 1 {
		t.Errorf("before the answer: %d %v", early.StatusCode, early.Header)
	}
	answer, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	renewed := strings.Contains(strings.Join(answer.Header["Set-Cookie"], ";"), "session")
	if string(body) != "late" || !strings.Contains(strings.Join(answer.Header["Vary"], ","), "Cookie") || !renewed {
		t.Errorf("the answer: %d %v %q", answer.StatusCode, answer.Header, body)
	}
	for _, line := range []string{"X-Original-URL: /ops/", "X-Rewrite-URL: /ops/", "X-Original-Host: evil.test", "X-Host: evil.test", "Proxy: http://evil.test", "x_original_url: /ops/", "X.Host: evil.test"} {
		if status, _, text := f.raw(t, ada, "GET", "/dash", line, "Connection: close"); strings.Contains(text, ":") || strings.Contains(text, "[") {
			t.Errorf("%s arrives: %d %s", line, status, text)
		}
	}
}

// gate36 checks that silent sign-in at a provider, as on a forgotten machine, is not
// a fresh proof.
func gate36(t *T) {
	t.Strategies(func(t *T, strategy string) {
		f := newGateFront(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "shown") }, func(c *authsvc.Config) { //nolint:errcheck // the client shows it
			c.Session.Strategy = authsvc.Strategy(strategy)
			c.Gate.Hosts[0].Rules = append(c.Gate.Hosts[0].Rules, authsvc.GateRule{Match: "/recent/", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{MaxAge: time.Hour}}}})
		})
		for name, c := range map[string]struct {
			said   func(map[string]any)
			proved bool
		}{
			"the provider says nothing": {func(c map[string]any) { delete(c, "auth_time") }, false},
			"three hours ago":           {func(c map[string]any) { c["auth_time"] = time.Now().Add(-3 * time.Hour).Unix() }, false},
			"just now":                  {func(c map[string]any) { c["auth_time"] = time.Now().Unix() }, true},
		} {
			f.OP.SetFault(idp.Fault{IDToken: c.said})
			b := f.signedIn(t)
			f.OP.SetFault(idp.Fault{})
			if status, _, body := f.raw(t, b, "GET", "/recent/x", "Connection: close"); (body == "shown") != c.proved {
				t.Errorf("%s, a rule with max_age: %d %s", name, status, body)
			}
			if a := b.Get("/api/auth/account/export"); (a.StatusCode == http.StatusOK) != c.proved {
				t.Errorf("%s, export: %d", name, a.StatusCode)
			}
			if status, _, body := f.raw(t, b, "GET", "/dash", "Connection: close"); body != "shown" {
				t.Errorf("twin, %s: %d", name, status)
			}
		}
	})
}
