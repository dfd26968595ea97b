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

// Times of a stop.
const (
	// drainTime is how long requests in flight and mail that is being sent may take after
	// a signal to stop.
	drainTime = 15 * time.Second
	// lingerTime is how long open connections may send one more request, whose
	// answer closes the connection. When no request came for quietTime, only
	// connections that have not sent any request yet are waited for.
	lingerTime = time.Second
	quietTime  = 100 * time.Millisecond
	// handshakeTime is how long a TCP handshake that has begun may take to
	// complete: a round trip and a busy kernel. A client whose SYN was dropped
	// sends it again after a second.
	handshakeTime = 250 * time.Millisecond
	// closeTime is how long the store may take to close.
	closeTime = 2 * time.Second
)

var errForced = errors.New("stopped at once by a second signal")

// A closer is what handles the requests.
type closer interface {
	Close(ctx context.Context) error
	EndStreams()
}

// drain stops listening, and gives clients with open connections time for one more
// request, whose answer closes the connection. Otherwise their next request would
// meet a reset.
func (srv *server) drain() error {
	srv.draining.Store(true)
	var queued []net.Conn
	if refuseSYN(srv.conns.Listener) {
		begun := time.Now()
		if err := srv.waitUntil(func() bool { return time.Since(begun) > handshakeTime }); err != nil {
			return err
		}
		queued = acceptQueued(srv.conns.Listener)
	}
	if err := srv.conns.Close(); err != nil {
		return fmt.Errorf("cannot stop listening: %w", err)
	}
	select {
	case <-srv.serveErr: //nolint:errcheck // the last connection that it accepted is counted
	case <-srv.stopSignals:
		return errForced
	}
	_ = srv.http.Serve(&drainListener{srv.conns, queued}) // returns when it has accepted them all
	begun := time.Now()
	srv.lastRequest.Store(begun.UnixNano())
	return srv.waitUntil(func() bool {
		open, unused := srv.conns.count()
		last := time.Unix(0, srv.lastRequest.Load())
		// Shutdown drops the first request of a connection that it has not
		// begun to answer.
		return open == 0 || unused == 0 && time.Since(last) > quietTime || time.Since(begun) > lingerTime
	})
}

// A drainListener accepts the pending connections, and no others.
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

// waitUntil polls done until it is true, or until the second signal.
func (srv *server) waitUntil(done func() bool) error {
	for !done() {
		select {
		case <-srv.stopSignals:
			return errForced
		case <-time.After(quietTime / 10):
		}
	}
	return nil
}

// shutdown lets requests in flight finish, then closes the engine. A second
// signal ends it at once.
func (p *program) shutdown(server *http.Server, auth closer, again <-chan os.Signal) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), drainTime)
	defer cancel()
	defer time.AfterFunc(streamTime, auth.EndStreams).Stop()
	done := make(chan error, 1)
	go func() {
		err := server.Shutdown(ctx)
		if err != nil {
			err = fmt.Errorf("requests were still running after %v: %w", drainTime, errors.Join(err, server.Close()))
		}
		done <- errors.Join(err, auth.Close(ctx))
	}()
	select {
	case err := <-done:
		return err
	case <-again:
		return errForced
	}
}

func (p *program) closeEngine(auth closer) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(p.ctx), drainTime)
	defer cancel()
	return auth.Close(ctx)
}

// withTimeout runs a function that may hang, and stops waiting for it after d.
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
