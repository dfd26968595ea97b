package verify

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
)

var outboundChecks = checks{
	"01": {title: "requests into the internal network, by metadata", once: true, run: outbound01, alone: true},
	"02": {title: "redirects with credentials", run: outbound02},
	"03": {title: "redirect loops", run: outbound03},
	"04": {title: "huge and endless bodies", once: true, run: outbound04},
	"05": {title: "TLS", once: true, run: outbound05},
	"06": {title: "issuer over plain http", once: true, run: outbound06},
	"07": {title: "one provider hangs: its calls are capped, others stay fast", run: outbound07},
	"08": {title: "long values from the browser", run: outbound08},
}

// outboundInner lists addresses to which metadata must not send the service. PORT
// stands for a listener's port.
var outboundInner = []string{
	"http://127.0.0.1:PORT/x", "https://127.0.0.1:PORT/x", "http://localhost:PORT/x", "http://LOCALHOST:PORT/x", "http://[::ffff:127.0.0.1]:PORT/x",
	"https://[::ffff:127.0.0.1]:PORT/x", "https://[::ffff:7f00:1]:PORT/x", "http://127.1:PORT/x", "http://2130706433:PORT/x", "http://0x7f000001:PORT/x",
	"https://2130706433:PORT/x", "https://0.0.0.0:PORT/x", "https://[::]:PORT/x", "http://0.0.0.0:PORT/x", "http://[::1]:PORT/x", "http://127.0.0.1.:PORT/x",
	"http://169.254.169.254/latest", "https://169.254.169.254/latest", "https://[fd00:ec2::254]/latest", "https://[fe80::1]/x", "https://100.100.100.200/x",
	"https://10.0.0.1/x", "https://192.168.0.1/x", "https://[64:ff9b::7f00:1]:PORT/x", "https://224.0.0.1/x",
	"https://inner.faults.test:PORT/x", "https://mapped.faults.test:PORT/x", "https://metadata.faults.test/x", "https://rebinding.faults.test:PORT/x",
	"http://inner.faults.test:PORT/x", "file:///etc/passwd", "gopher://127.0.0.1:PORT/_x", "ftp://127.0.0.1:PORT/x", "dict://127.0.0.1:PORT/x",
	"https://user@127.0.0.1:PORT/x", "//127.0.0.1:PORT/x", "unix:///var/run/docker.sock",
}

// outboundNames resolves names to internal addresses; the name rebinding does so
// every other time.
func outboundNames() func(string) ([]netip.Addr, bool) {
	var asked atomic.Int64
	return func(name string) ([]netip.Addr, bool) {
		first, _, _ := strings.Cut(name, ".")
		switch first {
		case "inner":
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, true
		case "mapped":
			return []netip.Addr{netip.MustParseAddr("::ffff:127.0.0.1")}, true
		case "metadata":
			return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, true
		case "rebinding":
			if asked.Add(1) <= 2 { // A and AAAA
				return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, true
			}
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, true
		}
		return nil, false
	}
}

func outbound01(t *T) {
	idpfaultNames(t, outboundNames())
	canary := idpfaultListen(t, func(net.Conn) {})
	for _, address := range outboundInner {
		to := strings.ReplaceAll(address, "PORT", canary.port())
		for _, endpoint := range []string{"jwks_uri", "userinfo_endpoint", "token_endpoint"} {
			w := oidcWorld(t, nil)
			w.OP.SetFault(idp.Fault{Discovery: func(m map[string]any) { m[endpoint] = to }, IDToken: func(c map[string]any) { c["picture"] = to }})
			w.MustRefuseLate(t, func() *browser.Answer { return outboundSignIn(w) })
			if n := canary.visits.Load(); n != 0 || t.Failed() {
				t.Fatalf("%s %s: %d connections\n%s", endpoint, to, n, w.Logs)
			}
		}
	}
	t.Figure("%d addresses at 3 endpoints", len(outboundInner))
	outboundAllowed(t)
	// The browser fetches a picture, not the service.
	w := oidcWorld(t, nil)
	oidcAccepted(t, w, "picture", idp.Fault{IDToken: func(c map[string]any) { c["picture"] = "http://" + canary.Addr().String() }})
	if n := canary.visits.Load(); n != 0 {
		t.Errorf("the picture was fetched")
	}
}

// outboundSignIn continues the flow as far as possible.
func outboundSignIn(w *arena.World) *browser.Answer {
	b := w.Browser()
	a := b.Post("/api/auth/signin/op")
	if strings.HasPrefix(a.Location(), w.OP.Issuer()) {
		a = b.Get(b.Approve(w.OP, a.Location(), "ada"))
	}
	return a
}

// outboundAllowed is the twin: addresses that the operator allows are reached, but
// never metadata services.
func outboundAllowed(t *T) {
	var visits atomic.Int64
	var w *arena.World
	keys := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		visits.Add(1)
		rw.Write(oidcGet(t, w.OP.Issuer()+"/jwks"))
	}))
	defer keys.Close()
	w = oidcWorld(t, func(c *authsvc.Config) {
		c.Outbound.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16")}
	})
	at := func(to string) idp.Fault { return idp.Fault{Discovery: func(m map[string]any) { m["jwks_uri"] = to }} }
	if oidcAccepted(t, w, "allowed network", at(keys.URL)); visits.Load() != 1 {
		t.Errorf("%d visits", visits.Load())
	}
	w = oidcWorld(t, func(c *authsvc.Config) {
		c.Outbound.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	})
	w.OP.SetFault(at("https://169.254.169.254/jwks"))
	w.MustRefuseLate(t, func() *browser.Answer { return outboundSignIn(w) })
	if !strings.Contains(w.Logs.String(), "address is not allowed") {
		t.Errorf("metadata addresses can be allowed\n%s", w.Logs)
	}
}

func outbound02(t *T) {
	var visits atomic.Int64
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { visits.Add(1); w.WriteHeader(500) }))
	defer evil.Close()
	w := oidcWorld(t, func(c *authsvc.Config) {
		c.Outbound.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	for _, e := range []idp.Endpoint{idp.EndpointToken, idp.EndpointUserInfo} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			for _, to := range []string{evil.URL + "/x", "/" + string(e) + "?again", "//" + strings.TrimPrefix(evil.URL, "http://")} {
				before := w.OP.Calls(e)
				oidcRefused(t, w, fmt.Sprint(e, status, to), idp.Fault{Intercept: idpfaultHook{e: func(rw http.ResponseWriter, r *http.Request) bool {
					rw.Header().Set("Location", to)
					rw.WriteHeader(status)
					return true
				}}})
				if n := w.OP.Calls(e) - before; n != 1 {
					t.Errorf("%s %d to %s: %d calls", e, status, to, n)
				}
			}
		}
	}
	if n := visits.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
	oidcAccepted(t, w, "twin", idp.Fault{})
}

func outbound03(t *T) {
	loop := func(e idp.Endpoint, path string) idp.Fault {
		var hop atomic.Int64
		return idp.Fault{Intercept: idpfaultHook{e: func(w http.ResponseWriter, r *http.Request) bool {
			if n := hop.Add(1); n < 20 {
				http.Redirect(w, r, fmt.Sprintf("https://op.test%s?hop=%d", path, n), http.StatusFound)
				return true
			}
			return false
		}}}
	}
	for e, path := range map[idp.Endpoint]string{idp.EndpointDiscovery: "/.well-known/openid-configuration", idp.EndpointJWKS: "/jwks"} {
		idpfaultCell(t, string(e), e, loop(e, path), func(t *T, w *arena.World, _ time.Duration) {
			if n := w.OP.Calls(e); n > 3 {
				t.Errorf("%s: %d calls", e, n)
			}
		})
	}
}

func outbound06(t *T) {
	with := func(issuer string) error {
		c := authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Providers: []authsvc.Provider{
			&authsvc.OAuth{ID: "op", Name: "Example", OpenID: true, Issuer: issuer, Client: authsvc.Client{ID: "app", Secret: "x"}}}}
		s, err := engine.New(c)
		if err == nil {
			s.Close(context.WithoutCancel(t.Context()))
		}
		return err
	}
	for _, issuer := range []string{"http://id.test", "HTTP://id.test", "http://10.0.0.1", "http://127.0.0.1.id.test", "http://localhost.id.test", "http://0.0.0.0", "ftp://id.test", "id.test", "//id.test",
		"https://user:secret-in-the-issuer@id.test", "https://id.test#x", "https://id.test?x=y", "http://[::ffff:10.0.0.1]"} {
		err := with(issuer)
		if list := authsvc.ConfigErrors(err); len(list) == 0 || list[0].Field != "Providers[0].Issuer" {
			t.Errorf("%s: %v", issuer, err)
		}
		if err != nil && strings.Contains(err.Error(), "secret-in-the-issuer") {
			t.Errorf("the error repeats the password")
		}
	}
	for _, issuer := range []string{"https://id.test", "http://127.0.0.1:9", "http://localhost:9", "http://[::1]:9", "https://id.test/tenant"} {
		if err := with(issuer); err != nil {
			t.Errorf("twin %s: %v", issuer, err)
		}
	}
	n := process.NewNeighbours(t)
	p := process.Prepare(t, strings.Replace(n.YAML(""), n.OP.Issuer(), "http://id.test", 1), "AUTHSVC_STORAGE_URL=memory:")
	if out, code := p.Command("serve"); code == 0 || !strings.Contains(out, "providers[0].issuer") {
		t.Errorf("serve: %d %s", code, out)
	}
	process.Serve(t, n.YAML(""), "AUTHSVC_STORAGE_URL=memory:")
}

// outbound07 checks that sign-ins at a provider that hangs hold at most 64 calls.
// Further ones fail soon, and sign-ins at another provider stay as fast.
func outbound07(t *T) {
	n := t.Scale("sign-ins while a provider hangs", 300, 1000, 1000)
	oidcBubble(t, func(t *T) {
		second, err := idp.New(idp.Options{Issuer: "https://op2.test", Alg: "ES256",
			Clients: []idp.Client{{ID: "app", Secret: arena.ClientSecret, RedirectURIs: []string{arena.Origin + "/api/auth/callback/op2"}}}})
		if err != nil {
			t.Fatal(err)
		}
		w := oidcOffline(t, func(c *authsvc.Config) {
			c.Outbound.DangerousTransport.(arena.Wire)["op2.test"] = second
			p := *oidcProvider(c)
			p.ID, p.Issuer = "op2", second.Issuer()
			c.Providers = append(c.Providers, &p)
		})
		browsers, backs := make([]*arena.Browser, n), make([]string, n)
		for i := range n {
			browsers[i] = w.Browser()
			backs[i] = browsers[i].Approve(w.OP, browsers[i].Begin("op"), "ada")
		}
		w.OP.SetFault(idp.Fault{Delay: map[idp.Endpoint]time.Duration{idp.EndpointToken: time.Hour}})
		begin := time.Now()
		var soon atomic.Int64
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if a := browsers[i].Get(backs[i]); !strings.Contains(a.Location(), "error=OAuthCallback") {
					t.Errorf("%d %s", a.StatusCode, a.Location())
				}
				if time.Since(begin) < 3*time.Second {
					soon.Add(1)
				}
			})
		}
		time.Sleep(time.Second)
		var worst time.Duration
		for range 100 {
			asked := time.Now()
			b := w.Browser()
			answer, err := second.Approve(b.Begin("op2"), "grace")
			if err != nil {
				t.Fatal(err)
			}
			if a := b.Get(answer.URL()); a.Location() != arena.Origin {
				t.Fatalf("another provider: %s\n%s", a.Location(), w.Logs)
			}
			worst = max(worst, time.Since(asked))
		}
		if worst > 100*time.Millisecond {
			t.Errorf("another provider's sign-ins wait %v", worst)
		}
		all.Wait()
		if d := time.Since(begin); d > 10*time.Second || int(soon.Load()) < n-64 {
			t.Errorf("all are answered after %v, %d of them soon", d, soon.Load())
		}
		if calls := w.OP.Calls(idp.EndpointToken); calls > 64 {
			t.Errorf("%d token requests", calls)
		}
		time.Sleep(6 * time.Second)
		oidcAccepted(t, w, "twin: back", idp.Fault{})
	})
}

func outbound08(t *T) {
	oidcBubble(t, func(t *T) {
		w := oidcOffline(t, nil)
		for _, name := range []string{"login_hint", "prompt", "ui_locales", "hd", "domain_hint", "acr_values", "screen_hint"} {
			for n, passes := range map[int]bool{512: true, 513: false, 64 << 10: false} {
				long := strings.Repeat("h", n)
				a := w.Browser().Post("/api/auth/signin/op?" + name + "=" + long)
				if !strings.HasPrefix(a.Location(), w.OP.Issuer()) || strings.Contains(a.Location(), long) != passes || len(a.Location()) > 4096 {
					t.Errorf("%s of %d bytes: %.200s", name, n, a.Location())
				}
			}
		}
		for _, name := range []string{"code", "state", "iss"} {
			for n, asked := range map[int]int{4096: 1, 4097: 0, 64 << 10: 0} {
				b := w.Browser()
				back := arena.MustURL(t, b.Approve(w.OP, b.Begin("op"), "ada"))
				q := back.Query()
				q.Set(name, strings.Repeat("c", n))
				back.RawQuery = q.Encode()
				before := w.OP.Calls(idp.EndpointToken)
				w.MustRefuseLate(t, func() *browser.Answer { return b.Get(back.String()) })
				if name != "code" {
					asked = 0
				}
				if got := w.OP.Calls(idp.EndpointToken) - before; got != asked {
					t.Errorf("%s of %d bytes: %d token requests", name, n, got)
				}
			}
		}
		oidcAccepted(t, w, "twin", idp.Fault{})
	})
}

// outboundBodies write answers that end badly, until the reader leaves, and count the
// bytes written.
func outboundBodies(written *atomic.Int64) map[string]http.HandlerFunc {
	chunk := bytes.Repeat([]byte("x"), 64<<10)
	stream := func(w http.ResponseWriter) {
		for written.Load() < 10<<30 {
			n, err := w.Write(chunk)
			if written.Add(int64(n)); err != nil {
				return
			}
		}
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	for range 100 << 20 / len(chunk) {
		z.Write(chunk)
	}
	z.Close()
	list := map[string]http.HandlerFunc{
		"10 GB": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", fmt.Sprint(10<<30))
			stream(w)
		},
		"endless chunks": func(w http.ResponseWriter, _ *http.Request) { w.(http.Flusher).Flush(); stream(w) },
		"gzip bomb": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(bomb.Bytes())
		},
	}
	if theScale() > quick {
		list["a byte a second"] = func(w http.ResponseWriter, r *http.Request) {
			w.Write([]byte("{"))
			for range 30 {
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
					return
				case <-time.After(time.Second):
				}
				if _, err := w.Write([]byte(" ")); err != nil {
					return
				}
			}
		}
	}
	return list
}

func outbound04(t *T) {
	var written atomic.Int64
	var cells []func()
	for name, body := range outboundBodies(&written) {
		for _, e := range idpfaultEndpoints {
			w := oidcWorld(t, nil)
			b := w.Browser()
			back := ""
			if e != idp.EndpointDiscovery {
				back = b.Approve(w.OP, b.Begin("op"), "ada")
			}
			w.OP.SetFault(idp.Fault{Intercept: idpfaultHook{e: func(rw http.ResponseWriter, r *http.Request) bool {
				r.ParseForm()
				body(rw, r)
				return true
			}}})
			cells = append(cells, func() {
				begin := time.Now()
				a := w.MustRefuseLate(t, func() *browser.Answer {
					if back == "" {
						return b.Post("/api/auth/signin/op")
					}
					return b.Get(back)
				})
				if d := time.Since(begin); d > within(10*time.Second) || !strings.Contains(a.Location(), "error=OAuth") {
					t.Errorf("%s %s: %s after %v", e, name, a.Location(), d)
				}
			})
		}
	}
	together(len(cells), func(i int) { cells[i]() })
	// Unread data fills the buffers of each connection, some MB.
	if n := written.Load(); n > int64(len(cells))*16<<20 {
		t.Errorf("%d MB were taken", n>>20)
	}
	w := oidcWorld(t, nil)
	oidcAccepted(t, w, "twin: a body below the limit", idp.Fault{Discovery: func(m map[string]any) { m["x"] = strings.Repeat("x", 900<<10) }})
}
