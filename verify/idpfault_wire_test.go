package verify

import (
	"bytes"
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"authsvc"
	"authsvc/internal/dev/idp"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/freeport"
)

// An idpfaultPort is a faulty listener on 127.0.0.1 that counts connections.
type idpfaultPort struct {
	net.Listener
	visits atomic.Int64
}

// idpfaultListen passes each connection to f.
func idpfaultListen(t *T, f func(net.Conn)) *idpfaultPort {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &idpfaultPort{Listener: ln}
	var open sync.WaitGroup
	open.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			p.visits.Add(1)
			open.Go(func() { defer conn.Close(); f(conn) })
		}
	})
	t.Cleanup(func() { ln.Close(); open.Wait() })
	return p
}

func (p *idpfaultPort) port() string { _, port, _ := net.SplitHostPort(p.Addr().String()); return port }

// idpfaultReset sends headers and breaks the connection.
func idpfaultReset(c net.Conn) {
	c.SetDeadline(time.Now().Add(patience))
	c.Read(make([]byte, 4096))
	c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"))
	c.(*net.TCPConn).SetLinger(0)
}

// idpfaultStall sends nothing until the other end leaves.
func idpfaultStall(c net.Conn) {
	c.SetDeadline(time.Now().Add(patience))
	for {
		if _, err := c.Read(make([]byte, 4096)); err != nil {
			return
		}
	}
}

// idpfaultSockets tests faults of real connections on each endpoint.
func idpfaultSockets(t *T) {
	reset, stall := idpfaultListen(t, idpfaultReset), idpfaultListen(t, idpfaultStall)
	faults := map[string]string{"refuses": "http://" + freeport.Refusing(t), "reset after headers": "http://" + reset.Addr().String()}
	if theScale() > quick {
		faults["TLS stalls"] = "https://" + stall.Addr().String()
	}
	var cells []func()
	for name, base := range faults {
		for _, endpoint := range []string{"issuer", "token_endpoint", "jwks_uri", "userinfo_endpoint"} {
			cells = append(cells, idpfaultSocket(t, name, endpoint, base))
		}
	}
	together(len(cells), func(i int) { cells[i]() })
}

// idpfaultSocket prepares a world with one endpoint at base, and returns a function
// that tries to sign in there.
func idpfaultSocket(t *T, name, endpoint, base string) func() {
	w := oidcWorld(t, func(c *authsvc.Config) {
		c.Outbound.AllowNetworks = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		down := *oidcProvider(c)
		down.ID, down.Issuer = "down", base
		c.Providers = append(c.Providers, &down)
	})
	id := "op"
	if endpoint == "issuer" {
		id = "down"
	} else {
		w.OP.SetFault(idp.Fault{Discovery: func(m map[string]any) { m[endpoint] = base + "/x" }})
	}
	return func() {
		begin := time.Now()
		a := w.MustRefuseLate(t, func() *browser.Answer {
			b := w.Browser()
			a := b.Post("/api/auth/signin/" + id)
			if strings.HasPrefix(a.Location(), w.OP.Issuer()) {
				a = b.Get(b.Approve(w.OP, a.Location(), "ada"))
			}
			return a
		})
		if d := time.Since(begin); d > within(10*time.Second) || !strings.Contains(a.Location(), "error=OAuth") {
			t.Errorf("%s %s: %s after %v", endpoint, name, a.Location(), d)
		}
		if a := w.Browser().SignInByMail(w, "someone@app.test"); a.Location() != arena.Origin {
			t.Errorf("%s %s: another way in: %s", endpoint, name, a.Location())
		}
		if b := w.Browser(); id == "down" && b.SignIn(w.OP, "ada").Location() != arena.Origin {
			t.Errorf("%s %s: another provider fails", endpoint, name)
		}
	}
}

// idpfaultNames replaces the name server of this process, for checks that run alone.
// answer returns the addresses of a name, or false if the name does not exist, and
// may take its time.
func idpfaultNames(t *T, answer func(name string) ([]netip.Addr, bool)) {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			query := bytes.Clone(buf[:n])
			all.Go(func() { conn.WriteTo(idpfaultDNS(query, answer), from) })
		}
	})
	old := net.DefaultResolver
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	t.Cleanup(func() { net.DefaultResolver = old; conn.Close(); all.Wait() })
}

// idpfaultDNS answers one question (RFC 1035, section 4.1).
func idpfaultDNS(query []byte, answer func(string) ([]netip.Addr, bool)) []byte {
	var labels []string
	at := 12
	for query[at] != 0 {
		labels = append(labels, string(query[at+1:at+1+int(query[at])]))
		at += 1 + int(query[at])
	}
	question := query[12 : at+5]
	kind := binary.BigEndian.Uint16(query[at+1:])
	list, ok := answer(strings.ToLower(strings.Join(labels, ".")))
	var records []byte
	count := 0
	for _, a := range list {
		if a.Is4() != (kind == 1) || a.Is6() != (kind == 28) {
			continue
		}
		records = append(records, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(a.AsSlice())))
		records = append(records, a.AsSlice()...)
		count++
	}
	code := byte(0)
	if !ok {
		code = 3
	}
	head := []byte{query[0], query[1], 0x81, 0x80 | code, 0, 1, 0, byte(count), 0, 0, 0, 0}
	return append(append(head, question...), records...)
}

func idpfault09(t *T) {
	here := idpfaultListen(t, func(net.Conn) {})
	loopback := netip.MustParseAddr("127.0.0.1")
	for name, c := range map[string]struct {
		list   []netip.Addr
		known  bool
		delay  time.Duration
		visits bool // twin: the name leads to the listener, which is not a provider
	}{
		"no such name": {}, "no address": {known: true}, "late": {list: []netip.Addr{loopback}, known: true, delay: 6 * time.Second},
		"IPv6 into the void":             {list: []netip.Addr{netip.MustParseAddr("100::1")}, known: true},
		"twin":                           {list: []netip.Addr{loopback}, known: true, visits: true},
		"IPv6 into the void, IPv4 works": {list: []netip.Addr{netip.MustParseAddr("100::1"), loopback}, known: true, visits: true},
	} {
		if theScale() == quick && (c.delay > 0 || strings.HasPrefix(name, "IPv6")) { // takes seconds each
			continue
		}
		t.Run(name, func(t *T) {
			before := here.visits.Load()
			idpfaultNames(t, func(name string) ([]netip.Addr, bool) {
				time.Sleep(c.delay)
				return c.list, c.known
			})
			w := t.Enter(func(config *authsvc.Config) { oidcProvider(config).Issuer = "https://op.faults.test:" + here.port() })
			begin := time.Now()
			a := w.MustRefuse(t, func() *browser.Answer { return w.Browser().Post("/api/auth/signin/op") })
			d := time.Since(begin)
			if d > within(10*time.Second) || !strings.Contains(a.Location(), "error=OAuthSignin") {
				t.Errorf("%s after %v", a.Location(), d)
			}
			if visited := here.visits.Load() > before; visited != c.visits {
				t.Errorf("connected: %v\n%s", visited, w.Logs)
			}
			begin = time.Now()
			if a := w.Browser().SignInByMail(w, "someone@app.test"); a.Location() != arena.Origin || time.Since(begin) > within(time.Second) {
				t.Errorf("another way in: %s after %v", a.Location(), time.Since(begin))
			}
			if strings.Contains(w.Logs.String(), arena.ClientSecret) {
				t.Error("the client secret is in the log")
			}
		})
	}
}
