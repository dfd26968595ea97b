package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"
)

// Time limits of a shutdown.
const (
	// drainTime limits requests in flight and mail that is being sent, after a signal
	// to stop.
	drainTime = 15 * time.Second
	// closeTime limits closing the store.
	closeTime = 2 * time.Second
)

var errForced = errors.New("stopped at once by a second signal")

// A closer is the part of the engine that shutdown needs.
type closer interface {
	Close(ctx context.Context) error
	EndStreams()
}

// drain continues to serve for stopDelay while not ready, so that load balancers and
// clients turn to other replicas. Each response closes its connection, so few
// connections remain whose next request could fail.
func (srv *server) drain(stopDelay time.Duration) error {
	srv.draining.Store(true)
	select {
	case <-time.After(stopDelay):
		return nil
	case <-srv.stopSignals:
		return errForced
	}
}

// shutdown stops listening, drains requests in flight, then closes the engine. A second
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

// withTimeout calls run, which may hang, and waits at most d for it.
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
