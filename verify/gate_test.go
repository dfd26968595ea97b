package verify

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/internal/test/arena"
)

var gateChecks = checks{
	"21": {title: "one login over three domains, and one sign-out", run: gate21},
	"22": {title: "a code is replayed, stolen, moved or forged", run: gate22},
	"23": {title: "an expired code, and a host's cookie that outlives the session", run: gate23},
	"24": {title: "a gate host receives a request for a route of the login host", run: gate24},
	"25": {title: "a personal access token at the gate beyond its hosts, its rules or its expiry", run: gate25},
	"26": {title: "an assertion is forged, replayed elsewhere or used as a session", run: gate26},
	"28": {title: "PHP reads another spelling of a header as an identity header", once: true, needs: []need{program("php"), program("caddy")}, run: gate28},
	"29": {title: "a connection switches to HTTP/2 and bypasses the rules", once: true, needs: []need{program("python3")}, run: gate29},
	"30": {title: "a method in another spelling, in a header or in the query", once: true, needs: []need{program("python3"), program("node"), program("npm")}, run: gate30},
	"31": {title: "a path that a proxy behind the gate decodes", once: true, run: gate31},
	"32": {title: "a closed path in another case, with escapes, in front of Express", once: true, needs: []need{program("node"), program("npm")}, run: gate32},
	"33": {title: "a request that names two hosts, behind a proxy", once: true, least: ci, run: gate33},
	"34": {title: "slow clients block others", once: true, needs: []need{program("prlimit")}, run: gate34},
	"35": {title: "a 103 changes the answer, and headers that programs obey pass the gate", run: gate35},
	"36": {title: "a silent sign-in counts as a fresh proof", run: gate36},
	"27": {title: "the gate and rules explain disagree", run: gate27},
	"01": {title: "a client claims an identity at the gate", run: gate01},
	"02": {title: "a closed path in another spelling", once: true, run: gate02},
	"03": {title: "gate/start leads to another site", run: gate03},
	"04": {title: "a WebSocket from another site", run: gate04},
	"05": {title: "the gate while the store is down or a condition fails", run: gate05},
	"06": {title: "a stream outlives the session", run: gate06},
	"07": {title: "a program gets or sets the session cookie", run: gate07},
	"08": {title: "redirect loop at a gate without cookies", run: gate08},
	"09": {title: "an unproved address passes a rule", run: gate09},
	"10": {title: "a program that is down, slow, lying or huge", once: true, run: gate10},
	"11": {title: "sign-in and answers through each proxy", run: gate11},
	"12": {title: "a client claims an identity or a target behind a proxy", once: true, run: gate12},
	"13": {title: "redirect loop behind a broken proxy", once: true, run: gate13},
	"14": {title: "a closed path in another spelling, through each integration", once: true, run: gate14},
	"15": {title: "smuggling past the gate", once: true, run: gate15},
	"17": {title: "authsvc probe misses a hole, or reports a false one", once: true, least: ci, run: gate17},
	"16": {title: "streams end with the session, not earlier", once: true, least: ci, run: gate16},
}

// gateFront is a service with the gate in front of a program, on the network.
type gateFront struct {
	*arena.World
	addr    string
	program atomic.Pointer[http.Handler]
}

// newGateFront returns a gate where /open/ is for anyone, /ops/ for a domain without
// users, and everything else for signed-in users, unless tune changes it.
func newGateFront(t *T, program http.HandlerFunc, tune func(*authsvc.Config)) *gateFront {
	t.Helper()
	f := &gateFront{}
	h := http.Handler(program)
	f.program.Store(&h)
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*f.program.Load()).ServeHTTP(w, r) }))
	t.Cleanup(behind.Close)
	f.World = t.Enter(func(c *authsvc.Config) {
		c.Gate.Hosts = []authsvc.GateHost{{Origin: arena.Origin, Upstream: behind.URL, Rules: []authsvc.GateRule{
			{Match: "/open/", Allow: authsvc.Allow{Anyone: true}},
			{Match: "/ops/", Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{Domains: []string{"ops.test"}}}}},
		}}}
		if tune != nil {
			tune(c)
		}
	})
	gate := f.Guard(nil)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.EscapedPath(), "/api/auth/") {
			f.ServeHTTP(w, r)
			return
		}
		gate.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	f.addr = front.Listener.Addr().String()
	return f
}

// raw sends a literal request with a browser's cookies; nil sends none.
func (f *gateFront) raw(t *T, b *arena.Browser, method, target string, lines ...string) (status int, header http.Header, body string) {
	t.Helper()
	var d net.Dialer
	c, err := d.DialContext(t.Context(), "tcp", f.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	text := method + " " + target + " HTTP/1.1\r\nHost: app.test\r\n"
	for _, line := range lines {
		text += line + "\r\n"
	}
	if b != nil {
		var cookies []string
		for name, v := range b.Cookies {
			cookies = append(cookies, name+"="+v)
		}
		text += "Cookie: " + strings.Join(cookies, "; ") + "\r\n"
	}
	io.WriteString(c, text+"\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	defer answer.Body.Close()
	all, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return answer.StatusCode, answer.Header, string(all)
}

func (f *gateFront) signedIn(t *T) *arena.Browser {
	t.Helper()
	b := f.Browser()
	if b.SignIn(f.OP, "ada"); b.Email() == "" {
		t.Fatalf("no sign-in\n%s", f.Logs)
	}
	return b
}

func gate01(t *T) {
	f := newGateFront(t, func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			if plain := strings.ReplaceAll(strings.ToLower(name), "_", "-"); strings.HasPrefix(plain, "x-auth-") || strings.HasPrefix(plain, "x-forwarded") || plain == "forwarded" || plain == "x-real-ip" {
				fmt.Fprintln(w, name, strings.Join(values, "|"))
			}
		}
	}, nil)
	b := f.signedIn(t)
	for _, ways := range [][]string{
		{"X-Auth-Email: eve@evil.test"}, {"x-auth-email: eve@evil.test"}, {"X_Auth_Email: eve@evil.test"}, {"X-Auth_Email: eve@evil.test"}, {"X-AUTH-EMAIL: eve@evil.test", "X-Auth-Email: eve@evil.test"},
		{"X-Auth-User-Id: eve"}, {"X_AUTH_USER_ID: eve"}, {"X-Auth-Groups: eve"}, {"X-Auth-Name: eve", "Connection: X-Auth-Name"}, {"Connection: x-auth-email, X_Auth_Email, X-Auth-User-Id"},
		{"X-Forwarded-For: 6.6.6.6", "X-Real-IP: 6.6.6.6", "Forwarded: for=eve"}, {"X_Forwarded_Host: eve", "X-Forwarded-Host: eve", "X-Forwarded-Proto: eve"}, {"X-Forwarded-Prefix: /eve", "x-forwarded-user: eve"},
	} {
		for _, who := range []*arena.Browser{b, nil} {
			status, _, body := f.raw(t, who, "GET", "/open/", ways...)
			if status != http.StatusOK || strings.Contains(body, "eve") || strings.Contains(body, "6.6.6.6") || strings.Contains(body, "_") {
				t.Errorf("%q arrives: %d\n%s", ways, status, body)
			}
			if want := "X-Auth-Email " + map[bool]string{true: "ada@example.com"}[who != nil] + "\n"; !strings.Contains(body, want) {
				t.Errorf("%q: the program is not told %q:\n%s", ways, want, body)
			}
		}
	}
	for _, forged := range []string{"X-Original-URL: /open/", "X-Rewrite-URL: /open/", "X-Forwarded-Uri: /open/", "X-HTTP-Method-Override: OPTIONS"} {
		if status, _, _ := f.raw(t, nil, "GET", "/dash", forged); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", forged, status)
		}
	}
}

// gateReaders parse paths as various servers do.
var gateReaders = map[string]func(string) string{
	"case-insensitive":  func(p string) string { return strings.ToLower(path.Clean(unescaped(p))) },
	"decodes twice":     func(p string) string { return path.Clean(unescaped(unescaped(p))) },
	"cuts at ;":         func(p string) string { return path.Clean(unescaped(withoutParameters(p))) },
	"collapses slashes": func(p string) string { return strings.ReplaceAll(unescaped(p), "//", "/") },
}

func unescaped(p string) string {
	if plain, err := url.PathUnescape(p); err == nil {
		return plain
	}
	return p
}

func withoutParameters(p string) string {
	parts := strings.Split(p, "/")
	for i := range parts {
		parts[i], _, _ = strings.Cut(parts[i], ";")
	}
	return strings.Join(parts, "/")
}

func gate02(t *T) {
	targets := gateTargets()
	for how, read := range gateReaders {
		f := newGateFront(t, func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, read(strings.SplitN(r.RequestURI, "?", 2)[0]))
		}, func(c *authsvc.Config) {
			c.Gate.Hosts[0].Default = authsvc.Allow{Anyone: true}
		})
		passed := 0
		for _, target := range targets {
			status, _, page := f.raw(t, nil, "GET", target)
			if status != http.StatusOK {
				continue
			}
			if passed++; page == "/ops" || strings.HasPrefix(page, "/ops/") {
				t.Errorf("a program that %s serves %s for %s", how, page, target)
			}
		}
		for _, open := range []string{"/open/page", "/open/a%2Fb;c", "/elsewhere//x", "/opsx"} {
			if status, _, _ := f.raw(t, nil, "GET", open); status != http.StatusOK {
				t.Errorf("%s: %d", open, status)
			}
		}
		t.Logf("%s: %d of %d spellings pass, none of them closed", how, passed, len(targets))
	}
	if len(targets) < 300 {
		t.Errorf("%d targets", len(targets))
	}
}

func gate03(t *T) {
	f := newGateFront(t, func(http.ResponseWriter, *http.Request) {}, nil)
	ada := f.signedIn(t)
	for _, to := range []string{"//evil.test", `/\evil.test`, `\\evil.test`, "https://evil.test", "javascript:alert(1)", "/\t/evil.test", "/%0d%0aSet-Cookie:x=y", "///evil.test", "evil.test", "@evil.test", "", "/.//evil.test", "http:evil.test", "/%2f/evil.test", "/a\r\nLocation: https://evil.test"} {
		for _, who := range []*arena.Browser{nil, ada} {
			delete(ada.Cookies, "__Host-authsvc.gate-seen")
			status, header, _ := f.raw(t, who, "GET", "/api/auth/gate/start?to="+url.QueryEscape(to), "Accept: text/html")
			at, err := url.Parse(header.Get("Location"))
			if status == http.StatusBadRequest {
				continue
			}
			if back := at.Query().Get("callbackUrl"); err != nil || status != http.StatusFound || at.Host != "app.test" || back != "" && !strings.HasPrefix(back, arena.Origin+"/") || header.Get("X") != "" {
				t.Errorf("%q: %d %s", to, status, header.Get("Location"))
			}
		}
	}
	delete(ada.Cookies, "__Host-authsvc.gate-seen")
	if _, header, _ := f.raw(t, ada, "GET", "/api/auth/gate/start?to="+url.QueryEscape("/dash?a=b"), "Accept: text/html"); header.Get("Location") != arena.Origin+"/dash?a=b" {
		t.Errorf("a path of the program: %s", header.Get("Location"))
	}
}

func gate04(t *T) {
	f := newGateFront(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "asked") }, nil)
	ada := f.signedIn(t)
	for origin, want := range map[string]int{"https://evil.test": 403, "null": 403, "http://app.test": 403, "https://app.test.evil.test": 403, "https://app.test": 200} {
		for _, target := range []string{"/socket", "/open/socket"} {
			if status, _, body := f.raw(t, ada, "GET", target, "Connection: Upgrade", "Upgrade: websocket", "Origin: "+origin); status != want || (body == "asked") != (want == 200) {
				t.Errorf("%s from %s: %d %s", target, origin, status, body)
			}
		}
	}
}

func gate05(t *T) {
	var asked atomic.Int64
	f := newGateFront(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) }, func(c *authsvc.Config) {
		c.Session.Strategy = authsvc.StrategyDatabase
		for name, when := range map[string]func(context.Context, authsvc.AccessRequest) (bool, error){
			"/error/": func(context.Context, authsvc.AccessRequest) (bool, error) { return true, arena.ErrBroken },
			"/panic/": func(context.Context, authsvc.AccessRequest) (bool, error) { panic("a condition") },
		} {
			c.Gate.Hosts[0].Rules = append(c.Gate.Hosts[0].Rules, authsvc.GateRule{Match: name, Allow: authsvc.Allow{AnyOf: []authsvc.Condition{{When: when}}}})
		}
	})
	ada := f.signedIn(t)
	for _, target := range []string{"/error/", "/panic/"} {
		if status, _, _ := f.raw(t, ada, "GET", target); status != http.StatusForbidden {
			t.Errorf("%s: %d", target, status)
		}
	}
	f.Ledger.BreakAt(func(int, string) arena.Failure { return arena.FailBefore })
	for _, target := range []string{"/dash", "/open/", "/ops/", "/api/auth/gate/start?to=/dash"} {
		if status, header, _ := f.raw(t, ada, "GET", target); status != http.StatusServiceUnavailable || header.Get("Retry-After") == "" {
			t.Errorf("%s without the store: %d", target, status)
		}
	}
	if asked.Load() != 0 {
		t.Error("the program was asked")
	}
	f.Ledger.BreakAt(nil)
	if status, _, _ := f.raw(t, ada, "GET", "/dash"); status != http.StatusOK || asked.Load() != 1 {
		t.Errorf("with the store: %d", status)
	}
}

func gate06(t *T) {
	mode := t.Mode
	t.Strategies(func(t *T, strategy string) {
		synctest.Test(t.T, func(inner *testing.T) {
			t := &T{T: inner, Mode: mode, id: t.id, report: t.report, figures: t.figures}
			w := t.EnterOffline(func(c *authsvc.Config) {
				c.Session.Strategy = authsvc.Strategy(strategy)
				c.Gate = authsvc.Gate{Recheck: time.Minute, Hosts: []authsvc.GateHost{{Origin: arena.Origin}}}
			})
			b := w.Browser()
			b.Login("ada")
			ended := make(chan time.Time, 1)
			h := w.Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done(); ended <- time.Now() }))
			r := httptest.NewRequest("GET", arena.Origin+"/events", nil)
			for name, v := range b.Cookies {
				r.AddCookie(&http.Cookie{Name: name, Value: v})
			}
			go h.ServeHTTP(httptest.NewRecorder(), r)
			time.Sleep(time.Hour)
			select {
			case <-ended:
				t.Fatal("the stream of a session that continues has ended")
			default:
			}
			out := time.Now()
			b.Post("/api/auth/signout")
			if at := <-ended; at.Sub(out) > 61*time.Second {
				t.Errorf("the stream ended %v after the session", at.Sub(out))
			}
		})
	})
}

func gate07(t *T) {
	t.Strategies(func(t *T, strategy string) {
		var name atomic.Value
		name.Store("none")
		f := newGateFront(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Add("Set-Cookie", name.Load().(string)+"=stolen; Path=/; Secure; HttpOnly")
			w.Header().Add("Set-Cookie", "theirs=1; Path=/")
			io.WriteString(w, r.Header.Get("Cookie"))
		}, func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(strategy) })
		ada := f.signedIn(t)
		ada.CSRF()
		ada.Cookies["theirs"] = "1"
		for cookie := range ada.Cookies {
			if cookie == "theirs" {
				continue
			}
			name.Store(cookie)
			status, header, body := f.raw(t, ada, "GET", "/dash")
			set := strings.Join(header["Set-Cookie"], "|")
			if status != http.StatusOK || body != "theirs=1" || strings.Contains(set, "stolen") || !strings.Contains(set, "theirs=1") {
				t.Errorf("%s: %d, the program got %q and set %q", cookie, status, body, set)
			}
		}
	})
}

func gate08(t *T) {
	f := newGateFront(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "the program") }, nil)
	ada := f.signedIn(t)
	follow := func(loses bool) (redirects, status int, body string) {
		for target := "/dash"; ; redirects++ {
			who := ada
			if loses && !strings.HasPrefix(target, "/api/auth/") {
				who = nil
			}
			status, header, body := f.raw(t, who, "GET", target, "Accept: text/html")
			for _, line := range header["Set-Cookie"] {
				if name, v, _ := strings.Cut(strings.SplitN(line, ";", 2)[0], "="); v != "" {
					ada.Cookies[name] = v
				}
			}
			if status != http.StatusFound || redirects == 10 {
				return redirects, status, body
			}
			target = strings.TrimPrefix(header.Get("Location"), arena.Origin)
		}
	}
	if n, status, body := follow(true); n > 6 || status != http.StatusBadGateway || !strings.Contains(body, "does not receive the cookies") {
		t.Errorf("%d redirects, %d\n%s", n, status, body)
	}
	if n, status, body := follow(false); n != 0 || status != http.StatusOK || body != "the program" {
		t.Errorf("with its cookies: %d redirects, %d %s", n, status, body)
	}
}

func gate09(t *T) {
	for proved, want := range map[bool]int{false: http.StatusForbidden, true: http.StatusOK} {
		f := newGateFront(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "email "+r.Header.Get("X-Auth-Email")) }, func(c *authsvc.Config) {
			c.Gate.Hosts[0].Rules[1].Allow.AnyOf = []authsvc.Condition{{Domains: []string{"example.com"}}, {Emails: []string{"ada@example.com"}}}
			o := *c.Providers[0].(*authsvc.OAuth)
			if !proved {
				o.Fields.EmailVerified = "nothing"
			}
			o.TrustEmail = false
			c.Providers[0] = &o
		})
		b := f.Browser()
		b.SignIn(f.OP, "ada")
		status, _, body := f.raw(t, b, "GET", "/ops/")
		if status != want || proved && body != "email ada@example.com" {
			t.Errorf("proved %v: %d %s", proved, status, body)
		}
		if _, _, body := f.raw(t, b, "GET", "/dash"); !proved && body != "email " {
			t.Errorf("the program receives an unproved address: %s", body)
		}
	}
}

func gate10(t *T) {
	hijack := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
				io.WriteString(c, answer)
				c.Close()
			}
		}
	}
	hasty := newGateFront(t, nil, func(c *authsvc.Config) { c.Gate.UpstreamTimeout = time.Second })
	patient := newGateFront(t, nil, func(c *authsvc.Config) { c.Gate.UpstreamTimeout = patience })
	hers, his := patient.signedIn(t), hasty.signedIn(t)
	for name, tt := range map[string]struct {
		program http.HandlerFunc
		want    int
	}{
		"closes":       {hijack(""), 502},
		"no HTTP":      {hijack("220 mail ready\r\n"), 502},
		"huge header":  {hijack("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("a", 1<<20) + "\r\n\r\n"), 502},
		"two lengths":  {hijack("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), 502},
		"odd chunking": {hijack("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), 502},
		"slow":         {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 504},
		"right":        {hijack("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"), 200},
	} {
		f, ada := patient, hers
		if name == "slow" {
			f, ada = hasty, his
		}
		h := http.Handler(tt.program)
		f.program.Store(&h)
		before := strings.Count(f.Logs.String(), "does not respond")
		if status, _, body := f.raw(t, ada, "GET", "/dash", "Accept: text/html"); status != tt.want || strings.Contains(body, "127.0.0.1") {
			t.Errorf("%s: %d %.300s", name, status, body)
		}
		if logged := strings.Count(f.Logs.String(), "does not respond") > before; logged != (tt.want != http.StatusOK) {
			t.Errorf("%s: a line in the log: %t", name, logged)
		}
	}
}
