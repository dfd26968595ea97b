package arena

import (
	"io"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"authsvc/internal/test/mongowire"
)

// A Proxy forwards connections between a service and any server.
type Proxy struct {
	Addr string // the proxy's own host:port

	upstream string
	hole     atomic.Bool
	pass     func(n int64) bool // of the n-th piece to the server; nil: passes all
	pieces   atomic.Int64
}

// NewProxy listens in front of upstream, a host:port, until t ends. pass reports
// whether the server gets the n-th piece of all that clients send; nil passes all. A
// piece is the result of one read. Once a connection has lost a piece, it loses all
// later ones.
func NewProxy(t testing.TB, upstream string, pass func(n int64) bool) *Proxy {
	t.Helper()
	p := &Proxy{upstream: upstream, pass: pass}
	p.Addr = forward(t, p.serve)
	return p
}

// forward serves connections to a local address, which it returns.
func forward(t testing.TB, serve func(client net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String()
}

// Blackhole(true) drops everything sent from now on in either direction.
// Blackhole(false) stops that for new connections. It closes no connection.
func (p *Proxy) Blackhole(on bool) { p.hole.Store(on) }

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.upstream)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		p.copy(client, server, nil)
		client.Close()
	}()
	p.copy(server, client, p.pass)
}

func (p *Proxy) copy(to io.Writer, from io.Reader, pass func(int64) bool) {
	buffer, lost := make([]byte, 64<<10), false
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		lost = lost || p.hole.Load() || pass != nil && !pass(p.pieces.Add(1))
		if lost {
			continue // after a gap, the rest of the stream is useless
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// InTurn returns the URL of a proxy in front of a MongoDB that passes on one command
// at a time. FerretDB 1 needs it: it may lose one of two concurrent changes of a
// document.
func InTurn(t testing.TB, storage string) string {
	t.Helper()
	u, err := url.Parse(storage)
	if err != nil {
		t.Fatal("the URL of MongoDB cannot be read")
	}
	upstream, one := u.Host, &sync.Mutex{}
	u.Host = forward(t, func(client net.Conn) { inTurn(client, upstream, one) })
	return u.String()
}

func inTurn(client net.Conn, upstream string, one *sync.Mutex) {
	defer client.Close()
	server, err := net.Dial("tcp", upstream)
	if err != nil {
		return
	}
	defer server.Close()
	for {
		m, err := mongowire.ReadMessage(client)
		if err != nil {
			return
		}
		one.Lock()
		if _, err = server.Write(m); err == nil {
			m, err = mongowire.ReadMessage(server)
		}
		one.Unlock()
		if err != nil {
			return
		}
		if _, err := client.Write(m); err != nil {
			return
		}
	}
}
