package counts_test

import (
	"bufio"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
)

// A proxy stands in front of a server and counts a store's requests. It counts a
// request before the server gets it.
type proxy struct {
	url *url.URL // the proxy's address

	upstream string
	speak    func() protocol
	mu       sync.Mutex
	n        figures
}

// A protocol decodes one connection.
type protocol interface {
	request(r *bufio.Reader) ([]byte, error)  // reads the client's next message
	response(r *bufio.Reader) ([]byte, error) // reads the server's next message, or the available part
	asked(m []byte, n *figures)               // counts a message of the client
	answered(m []byte, n *figures)
}

// before listens in front of the server in a URL until t ends.
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

// sum returns the counts so far.
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

// whatThereIs reads available data and ignores message boundaries.
func whatThereIs(r *bufio.Reader) ([]byte, error) {
	if _, err := r.Peek(1); err != nil {
		return nil, err
	}
	m := make([]byte, r.Buffered())
	_, err := io.ReadFull(r, m)
	return m, err
}

// framed reads a header of a given size, and the rest, whose length the header
// contains.
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
