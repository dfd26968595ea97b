package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// Times of the end.
const (
	// drainTime is how long requests in flight and mails in hand may take after
	// a signal to stop.
	drainTime = 15 * time.Second
	// lingerTime is how long connections are given to bring one more request,
	// whose answer tells the client that it was the last; those that had one
	// are not waited for when none came for quietTime.
	lingerTime = time.Second
	quietTime  = 100 * time.Millisecond
	// handshakeTime is how long a handshake that has begun may take to end: a
	// round trip, and a kernel that is busy. A client whose handshake is not
	// begun asks again after a second.
	handshakeTime = 250 * time.Millisecond
	// closeTime is how long the store may take to close.
	closeTime = 2 * time.Second
)

var errForced = errors.New("stopped at once by a second signal")

// A closer ends what is behind the requests.
type closer interface {
	Close(ctx context.Context) error
}

// drain stops listening and lets the clients whose connections are open find
// out by an answer, rather than by a reset of the request that they send next.
func (l *server) drain() error {
	l.draining.Store(true)
	var waiting []net.Conn
	if refuseSYN(l.conns.Listener) {
		begun := time.Now()
		if err := l.waitUntil(func() bool { return time.Since(begun) > handshakeTime }); err != nil {
			return err
		}
		waiting = acceptQueued(l.conns.Listener)
	}
	if err := l.conns.Close(); err != nil {
		return fmt.Errorf("cannot stop listening: %w", err)
	}
	select {
	case <-l.serveErr: //nolint:errcheck // the last one that it accepted is counted
	case <-l.stopSignals:
		return errForced
	}
	_ = l.http.Serve(&drainListener{l.conns, waiting}) // which ends after them
	begun := time.Now()
	l.lastRequest.Store(begun.UnixNano())
	return l.waitUntil(func() bool {
		open, fresh := l.conns.count()
		asked := time.Unix(0, l.lastRequest.Load())
		// A server that shuts down drops a request that it has not begun to
		// answer.
		return open == 0 || fresh == 0 && time.Since(asked) > quietTime || time.Since(begun) > lingerTime
	})
}

// drainListener is a listener that has these connections, and no others.
type drainListener struct {
	*limitListener
	pending []net.Conn
}

// Accept implements [net.Listener].
func (l *drainListener) Accept() (net.Conn, error) {
	if len(l.pending) == 0 {
		return nil, net.ErrClosed
	}
	first := l.pending[0]
	l.pending = l.pending[1:]
	return l.admit(first), nil
}

// Close implements [net.Listener].
func (l *drainListener) Close() error { return nil }

// waitUntil waits until something is so, or for the second signal.
func (l *server) waitUntil(is func() bool) error {
	for !is() {
		select {
		case <-l.stopSignals:
			return errForced
		case <-time.After(quietTime / 10):
		}
	}
	return nil
}

// shutdown lets requests in flight finish, then closes the engine. A second
// signal gives up at once.
func (p *program) shutdown(server *http.Server, engine closer, again <-chan os.Signal) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), drainTime)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		err := server.Shutdown(ctx)
		if err != nil {
			err = fmt.Errorf("requests were still running after %v: %w", drainTime, errors.Join(err, server.Close()))
		}
		done <- errors.Join(err, engine.Close(ctx))
	}()
	select {
	case err := <-done:
		return err
	case <-again:
		return errForced
	}
}

func (p *program) closeEngine(engine closer) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), drainTime)
	defer cancel()
	return engine.Close(ctx)
}

// withTimeout runs what may hang, and leaves it behind after d.
func withTimeout(d time.Duration, run func() error) error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		return err
	case <-time.After(d):
		return fmt.Errorf("the store did not close within %v", d)
	}
}
