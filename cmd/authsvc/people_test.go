package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"

	"authsvc/internal/dev/idp"
	"authsvc/internal/test/browser"
)

// A person is grace with her own browser.
type person struct {
	*browser.Browser
	op *idp.Server
}

// newPerson returns a person without cookies. If transport is nil, people share
// connections.
func newPerson(origin string, op *idp.Server, transport http.RoundTripper) *person {
	if transport == nil {
		transport = http.DefaultTransport
	}
	return &person{browser.New(origin, transport), op}
}

// startSignIn begins a sign-in and returns the callback URL to which the provider
// redirects.
func (p *person) startSignIn() (callback string, err error) { return p.Begin(p.op, "grace") }

// finishSignIn completes a sign-in and checks that there is a session.
func (p *person) finishSignIn(callback string) error {
	if err := p.Open(callback); err != nil {
		return err
	}
	return p.signedIn()
}

// signedIn checks that there is a session.
func (p *person) signedIn() error {
	email, err := p.Email()
	if err == nil && email != "grace@example.com" {
		err = fmt.Errorf("signed in as %q", email)
	}
	return err
}

func (p *person) signIn() error {
	callback, err := p.startSignIn()
	if err != nil {
		return err
	}
	return p.finishSignIn(callback)
}

// A load runs a step repeatedly in several goroutines, and counts.
type load struct {
	mu     sync.Mutex
	done   int
	failed []error
	cancel context.CancelFunc
	all    sync.WaitGroup
}

// isDialError reports whether no connection was made, so that nothing was sent.
func isDialError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// startLoad runs step in n goroutines. Each stops when it cannot connect.
func startLoad(t *testing.T, n int, step func() error) *load {
	ctx, cancel := context.WithCancel(context.Background())
	c := &load{cancel: cancel}
	t.Cleanup(c.stop)
	for range n {
		c.all.Go(func() {
			for ctx.Err() == nil {
				err := step()
				if isDialError(err) {
					return
				}
				c.mu.Lock()
				if err == nil {
					c.done++
				} else {
					c.failed = append(c.failed, err)
				}
				c.mu.Unlock()
			}
		})
	}
	return c
}

// stop waits for the steps in progress.
func (c *load) stop() { c.cancel(); c.all.Wait() }

func (c *load) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.done
}

// stopWithoutErrors stops, and fails the test if a step failed or none was completed.
func (c *load) stopWithoutErrors(t *testing.T) {
	t.Helper()
	c.stop()
	if len(c.failed) > 0 {
		t.Errorf("%d of %d failed; the first: %v", len(c.failed), len(c.failed)+c.done, c.failed[0])
	}
	if c.done == 0 {
		t.Error("nothing was done")
	}
	t.Logf("%d done, %d failed", c.done, len(c.failed))
}
