package counts_test

import (
	"bufio"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// A proxy stands before a server and counts what a store asks it. It has counted a
// request before the server gets it.
type proxy struct {
	url *url.URL // of this side

	upstream string
	speak    func() protocol
	mu       sync.Mutex
	n        figures
}

// A protocol is how one connection is spoken.
type protocol interface {
	request(r *bufio.Reader) ([]byte, error)  // reads the next message of the client
	response(r *bufio.Reader) ([]byte, error) // reads the next one of the server, or what there is of it
	asked(m []byte, n *figures)               // counts a message of the client
	answered(m []byte, n *figures)
}

// before listens before the server of a URL, until t ends.
func before(t *testing.T, location string, speak func() protocol) *proxy {
	t.Helper()
	p := &proxy{url: parse(t, location), speak: speak}
	p.upstream = p.url.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	p.url.Host = l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

// sum is what was counted so far.
func (p *proxy) sum() figures {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.n
}

func (p *proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.upstream)
	if err != nil {
		return
	}
	defer server.Close()
	spoken := p.speak()
	go func() {
		defer client.Close()
		copyMessages(client, server, spoken.response, func(m []byte) {
			p.mu.Lock()
			defer p.mu.Unlock()
			spoken.answered(m, &p.n)
		})
	}()
	copyMessages(server, client, spoken.request, func(m []byte) {
		p.mu.Lock()
		defer p.mu.Unlock()
		spoken.asked(m, &p.n)
	})
}

func copyMessages(to io.Writer, from io.Reader, next func(*bufio.Reader) ([]byte, error), see func([]byte)) {
	r := bufio.NewReader(from)
	for {
		m, err := next(r)
		if err != nil {
			return
		}
		see(m)
		if _, err := to.Write(m); err != nil {
			return
		}
	}
}

// whatThereIs reads without regard to messages.
func whatThereIs(r *bufio.Reader) ([]byte, error) {
	if _, err := r.Peek(1); err != nil {
		return nil, err
	}
	m := make([]byte, r.Buffered())
	_, err := io.ReadFull(r, m)
	return m, err
}

// framed reads a header of a size, and the rest, whose length it tells.
func framed(r *bufio.Reader, header int, rest func(header []byte) int) ([]byte, error) {
	head, err := r.Peek(header)
	if err != nil {
		return nil, err
	}
	n := rest(head)
	if n < 0 || n > 64<<20 {
		return nil, io.ErrUnexpectedEOF
	}
	m := make([]byte, header+n)
	_, err = io.ReadFull(r, m)
	return m, err
}
