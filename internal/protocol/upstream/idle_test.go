package upstream

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A pipes is a network in memory: every dial is accepted.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
	end   func()
}

func newPipes() *pipes {
	p := &pipes{conns: make(chan net.Conn), ended: make(chan struct{})}
	p.end = sync.OnceFunc(func() { close(p.ended) })
	return p
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.ended:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.end(); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.conns <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serve answers dialled connections, with the deadlines of authsvc serve.
func (p *pipes) serve(h http.Handler) *http.Server {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 15 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute}
	go s.Serve(p) //nolint:errcheck // it is closed
	return s
}

// idleProgram sends something, and then nothing for a while. It sends events. To a
// WebSocket, it sends nothing until something arrives, which it sends back.
func idleProgram(silence time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if r.Header.Get("Upgrade") == "" {
			_ = control.SetWriteDeadline(time.Time{})
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "hello\n")
			_ = control.Flush()
			time.Sleep(silence)
			io.WriteString(w, "still there\n")
			return
		}
		w.Header().Set("Upgrade", "websocket")
		w.Header().Set("Connection", "Upgrade")
		w.WriteHeader(http.StatusSwitchingProtocols)
		c, rw, err := control.Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_ = c.SetDeadline(time.Time{})
		io.WriteString(c, "hello\n")
		_, _ = io.Copy(c, rw)
	})
}

// between serves a program behind a proxy in memory, so it can run in a bubble.
func between(program http.Handler, tune func(http.Handler) http.Handler) (front *pipes, stop func()) {
	behind, front := newPipes(), newPipes()
	p := New(Options{Target: Target{Origin: "http://program"}, Timeout: time.Minute, Budget: NewBudget(100),
		OurCookie: func(string) bool { return false }, Failed: func(w http.ResponseWriter, _ *http.Request, status int, err error) {
			http.Error(w, err.Error(), status)
		}})
	p.transport.DialContext = behind.dial
	p.proxy.FlushInterval = 0 // its timer waits for a lock, and meanwhile time stands still in a bubble
	servers := []*http.Server{behind.serve(program), front.serve(tune(through(p)))}
	return front, func() {
		for _, s := range servers {
			s.Close()
		}
		p.CloseIdleConnections()
	}
}

// asItIs changes nothing.
func asItIs(h http.Handler) http.Handler { return h }

// TestIdleStreams checks that a stream continues after half an hour of silence, which
// is longer than every timeout of the server, the proxy and their connections.
func TestIdleStreams(t *testing.T) {
	t.Parallel()
	const silence = 30 * time.Minute
	for name, upgrade := range map[string]string{"events": "", "a WebSocket": "Connection: Upgrade\r\nUpgrade: websocket\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				front, stop := between(idleProgram(silence), asItIs)
				c, err := front.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				go io.WriteString(c, "GET /stream HTTP/1.1\r\nHost: app.example\r\n"+upgrade+"\r\n")
				in := bufio.NewReader(c)
				answer, err := http.ReadResponse(in, nil)
				if err != nil || answer.StatusCode != 200 && answer.StatusCode != 101 {
					t.Fatal(answer, err)
				}
				lines := in
				if upgrade == "" {
					lines = bufio.NewReader(answer.Body)
				}
				if line, err := lines.ReadString('\n'); line != "hello\n" {
					t.Fatalf("%q, %v", line, err)
				}
				begun := time.Now()
				if upgrade != "" {
					time.Sleep(silence)
					go io.WriteString(c, "still there\n")
				}
				if line, err := lines.ReadString('\n'); line != "still there\n" || time.Since(begun) < silence {
					t.Errorf("%q, %v after %v", line, err, time.Since(begun))
				}
				c.Close()
				stop()
			})
		})
	}
}
