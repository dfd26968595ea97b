package verify

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
	"authsvc/internal/test/proxytest"
)

// proxyPage contains the tested configurations.
const proxyPage = "../docs/proxies.md"

// site is the service's address in that page.
const site = "https://" + proxytest.Host

// A proxied service is the binary behind a proxy.
type proxied struct {
	*process.Process
	*process.Neighbours
	proxy *proxytest.Proxy
}

// behind runs f with the binary behind each available proxy, configured as the page
// says. trusted holds lines of its configuration.
func behind(t *T, trusted string, f func(t *T, s *proxied)) {
	t.Helper()
	eachProxy(t, func(t *T, program string, blocks []string) {
		n := process.NewNeighbours(t, site+"/api/auth/callback/op")
		yaml := strings.Replace(n.YAML(trusted), `"{origin}"`, site, 1)
		p := process.Serve(t, yaml, "AUTHSVC_STORAGE_URL=memory:")
		f(t, &proxied{p, n, proxytest.Start(t, program, proxytest.Options{Site: blocks[0], Backend: p.Addr})})
	})
}

// eachProxy runs f with every available proxy and its code blocks in the page.
func eachProxy(t *T, f func(t *T, program string, blocks []string)) {
	t.Helper()
	eachProgram(t, proxytest.Programs, func(t *T, program string) { f(t, program, proxytest.Blocks(t, proxyPage, program)) })
}

// eachProgram runs f with each available program.
func eachProgram(t *T, programs []string, f func(t *T, program string)) {
	t.Helper()
	if theScale() == quick {
		t.Figure("without proxies")
		return
	}
	for _, program := range programs {
		if lack := proxytest.Missing(program); lack != "" {
			if demanded() {
				t.Error(lack)
			}
			t.Figure("without %s", program)
			continue
		}
		t.Run(program, func(t *T) { f(t, program) })
	}
}

// visitor returns a browser with a local address.
func (s *proxied) visitor(from string) *browser.Browser {
	return browser.New(site, s.proxy.Transport(from))
}

// raw sends bytes to the proxy.
func (s *proxied) raw(t testing.TB, from, request string) rawAnswer {
	t.Helper()
	c, err := s.proxy.Dial(t.Context(), from)
	if err != nil {
		t.Fatal(err)
	}
	return rawExchange(t, c, 500*time.Millisecond, strings.NewReader(request))
}

// logged waits for an audit line with the client's address.
func logged(t testing.TB, p *process.Process, client string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if strings.Contains(p.Logs.String(), "client="+client+" ") {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("no line of client %s", client)
			return
		}
	}
}

// spoofs are headers with which a client claims to be 192.0.2.1, 2001:db8::1 or a
// client of evil.test.
var spoofs = map[string]string{
	"nothing": "", "one hop": "X-Forwarded-For: 192.0.2.1\r\n", "trusted hop on the right": "X-Forwarded-For: 192.0.2.1, 127.0.0.1\r\n",
	"two lines": "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.2\r\n", "many trusted": "X-Forwarded-For: 192.0.2.1" + strings.Repeat(",127.0.0.1", 100) + "\r\n",
	"1000 hops": "X-Forwarded-For: 192.0.2.1" + strings.Repeat(",::1", 1000) + "\r\n", "IPv6": "X-Forwarded-For: 2001:db8::1\r\n", "IPv6 and port": "X-Forwarded-For: [2001:db8::1]:4711\r\n",
	"mapped": "X-Forwarded-For: ::ffff:192.0.2.1\r\n", "mapped trusted": "X-Forwarded-For: 192.0.2.1, ::ffff:127.0.0.1\r\n", "zone": "X-Forwarded-For: fe80::1%eth0\r\n", "port": "X-Forwarded-For: 192.0.2.1:80\r\n",
	"garbage": "X-Forwarded-For: \",;unknown, 0x7f.1, 127.1, ,\r\n", "empty": "X-Forwarded-For: \r\n", "comma": "X-Forwarded-For: ,\r\n", "octal": "X-Forwarded-For: 0300.0.02.01\r\n",
	"obfuscated": "X-Forwarded-For: _hidden, _SEVKISEK\r\n", "case": "x-fORWARDED-fOR: 192.0.2.1\r\n", "underscores": "X_Forwarded_For: 192.0.2.1\r\nX_FORWARDED_FOR: 192.0.2.1\r\n",
	"Forwarded":    "Forwarded: for=192.0.2.1;host=evil.test;proto=http;by=192.0.2.9\r\n",
	"other names":  "X-Real-IP: 192.0.2.1\r\nTrue-Client-IP: 192.0.2.1\r\nCF-Connecting-IP: 192.0.2.1\r\nX-Client-IP: 192.0.2.1\r\nX-Cluster-Client-IP: 192.0.2.1\r\nClient-IP: 192.0.2.1\r\n",
	"another site": "X-Forwarded-Host: evil.test\r\nX-Forwarded-Server: evil.test\r\nX-Forwarded-Proto: http\r\nX-Forwarded-Port: 80\r\nX-Forwarded-Scheme: http\r\nX-Forwarded-Ssl: off\r\nFront-End-Https: off\r\nX-Host: evil.test\r\n",
	"another path": "X-Forwarded-Prefix: /evil\r\nX-Forwarded-Path: /evil\r\nX-Original-URL: /evil\r\nX-Rewrite-URL: /evil\r\nX-Script-Name: /evil\r\n",
	"hop by hop":   "Connection: X-Forwarded-For\r\nX-Forwarded-For: 192.0.2.1\r\n",
}

func redirect08Proxies(t *T) {
	behind(t, "trusted_proxies: [127.0.0.1/32]", func(t *T, s *proxied) {
		t.Run("claims", func(t *T) { spoofAll(t, s) })
		if a := s.raw(t, "::1", rawPost(proxytest.Host, "X-Forwarded-For: 2001:db8::1\r\nContent-Length: 11\r\n", "csrfToken=x")); len(a.status) != 1 {
			t.Errorf("over IPv6: %v", a.status)
		}
		logged(t, s.Process, "::1")
		direct := rawFrom(t, "127.0.77.200", s.Addr, rawPost(proxytest.Host, "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: http\r\nContent-Length: 11\r\n", "csrfToken=x"))
		logged(t, s.Process, "127.0.77.200")
		ours(t, direct.text)
		for _, claimed := range []string{"client=192.0.2", "client=2001:db8", "client=fe80", "client=127.0.0.1 "} {
			if strings.Contains(s.Logs.String(), claimed) {
				t.Errorf("the log has %s", claimed)
			}
		}
	})
	t.Run("limits", proxyLimits)
	t.Run("no proxy is trusted by default", func(t *T) {
		behind(t, "", func(t *T, s *proxied) {
			s.raw(t, "127.0.77.1", rawPost(proxytest.Host, "X-Forwarded-For: 192.0.2.1\r\nContent-Length: 11\r\n", "csrfToken=x"))
			logged(t, s.Process, "127.0.0.1")
			if !strings.Contains(s.Logs.String(), "trusted_proxies") {
				t.Error("the log does not say why")
			}
		})
	})
}

// spoofAll sends each claim from a different address.
func spoofAll(t *T, s *proxied) {
	n := 0
	for name, header := range spoofs {
		n++
		from := fmt.Sprintf("127.0.77.%d", n)
		t.Run(name, func(t *T) {
			t.Parallel()
			a := s.raw(t, from, rawPost(proxytest.Host, header+"Content-Length: 11\r\n", "csrfToken=x"))
			if len(a.status) == 1 && (a.status[0] == 400 || a.status[0] == 431) && !strings.Contains(a.text, "Set-Cookie") {
				return // the proxy refuses it
			}
			if len(a.status) != 1 || a.status[0] != 302 {
				t.Fatalf("%v %.300q", a.status, a.text)
			}
			logged(t, s.Process, from)
			ours(t, a.text)
		})
	}
}

// ours checks that the redirects and cookies of an answer contain nothing that the
// client claimed.
func ours(t testing.TB, text string) {
	t.Helper()
	lower := strings.ToLower(text)
	if strings.Contains(lower, "evil") || !strings.Contains(lower, "location: "+site+"/api/auth/") {
		t.Errorf("answer %.600q", text)
	}
	for line := range strings.SplitSeq(lower, "\r\n") {
		if cookie, ok := strings.CutPrefix(line, "set-cookie: "); ok && (!strings.HasPrefix(cookie, "__host-") || !strings.Contains(cookie, "; secure") || strings.Contains(cookie, "domain=")) {
			t.Errorf("cookie %q", cookie)
		}
	}
}

// rawFrom is rawSend from a local address.
func rawFrom(t testing.TB, from, addr, request string) rawAnswer {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(context.Background(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return rawExchange(t, c, 500*time.Millisecond, strings.NewReader(request))
}

// proxyLimits checks that one client counts as one whatever it claims, and two
// clients as two.
func proxyLimits(t *T) {
	eachProxy(t, func(t *T, program string, blocks []string) {
		n := process.NewNeighbours(t)
		yaml := strings.Replace(n.YAML("trusted_proxies: [127.0.0.1/32]"), `"{origin}"`, site, 1)
		yaml = strings.Replace(yaml, "rate_limit: {enabled: false}", "rate_limit: {sign_in: 5/min}", 1)
		p := process.Serve(t, yaml, "AUTHSVC_STORAGE_URL=memory:")
		s := &proxied{p, n, proxytest.Start(t, program, proxytest.Options{Site: blocks[0], Backend: p.Addr})}
		attempt := func(from string, i int) int {
			v := s.visitor(from)
			inner := v.Client.Transport
			v.Client.Transport = headerTransport{inner, "X-Forwarded-For", fmt.Sprintf("192.0.2.%d", i)}
			a, err := v.Post("/api/auth/signin/op")
			if err != nil {
				t.Fatal(err)
			}
			return a.StatusCode
		}
		passed, limited := 0, 0
		for i := range 12 {
			switch attempt("127.0.78.1", i) {
			case http.StatusFound:
				passed++
			case http.StatusTooManyRequests:
				limited++
			}
		}
		if passed < 5 || passed > 6 || limited != 12-passed {
			t.Errorf("%d passed, %d were limited", passed, limited)
		}
		if status := attempt("127.0.78.2", 0); status != http.StatusFound {
			t.Errorf("twin: another client gets %d", status)
		}
	})
}

// headerTransport adds a header to every request.
type headerTransport struct {
	http.RoundTripper
	name, value string
}

func (h headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Add(h.name, h.value)
	return h.RoundTripper.RoundTrip(r)
}

// httpwire01 sends requests that two parsers may split differently, to the binary and
// through each proxy. The second request inside them must never reach the engine, and
// the next user of a connection must get their own answer.
func httpwire01(t *T) {
	t.Run("direct", func(t *T) {
		p, _ := httpwireServe(t)
		for name, request := range smuggles(p.Addr) {
			t.Run(name, func(t *T) {
				t.Parallel()
				a := rawSend(t, p.Addr, request)
				open := noTransferEncoding[name[len("CL.TE "):]]
				if len(a.status) != 1 || a.closed == open {
					t.Errorf("%v, closed %v: %.200q", a.status, a.closed, a.text)
				}
			})
		}
		t.Cleanup(func() { lineTwin(t, p.Addr, p.Logs.String) })
	})
	behind(t, "trusted_proxies: [127.0.0.1/32]", smuggleThrough)
}

func smuggleThrough(t *T, s *proxied) {
	rounds := t.Scale("rounds through each proxy", 1, 3, 50)
	for range rounds {
		for name, request := range smuggles(proxytest.Host) {
			c, err := s.proxy.Dial(t.Context(), "127.0.79.1")
			if err != nil {
				t.Fatal(err)
			}
			c.SetDeadline(time.Now().Add(300 * time.Millisecond))
			io.WriteString(c, request) //nolint:errcheck // the proxy may refuse early
			io.Copy(io.Discard, c)     //nolint:errcheck
			c.Close()
			v := s.visitor("127.0.79.2")
			if a, err := v.Get("/api/auth/session"); err != nil || a.StatusCode != 200 || a.Text != "{}" {
				t.Fatalf("%s: the next user gets %v %+v", name, err, a)
			}
		}
	}
	if strings.Contains(s.Logs.String(), "client="+rawMark) {
		t.Error("a request inside of another reached the engine")
	}
	s.raw(t, "127.0.79.3", rawMarked(proxytest.Host))
	logged(t, s.Process, "127.0.79.3") // twin: requests that arrive are in the log
}
