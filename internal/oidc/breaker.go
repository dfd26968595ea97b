package oidc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	breakAfter = 5               // calls in a row without an answer
	probeEvery = 5 * time.Second // then one call goes through in this time

	maxCalls = 64              // under way at a time, for one party
	slotWait = 2 * time.Second // for one of them to end
)

var (
	errOpen = fmt.Errorf("%w: it did not answer the last calls, and is asked again in some seconds", ErrUnavailable)
	errBusy = fmt.Errorf("%w: too many calls to it are under way", ErrUnavailable)
)

// A breaker stops calls to an endpoint that has ceased to answer, so that
// people are told at once rather than after a timeout. It counts only calls
// without any answer. A 5xx is one: what a browser sent may have caused it, and
// whoever sent it could else shut the provider for everyone.
//
// Metadata and keys need none: see [cached].
type breaker struct {
	mu    sync.Mutex
	lost  int       // calls in a row
	probe time.Time // the next call, once lost is breakAfter
}

// do makes a call unless the breaker is open.
func (b *breaker) do(call func() (*answer, error)) (*answer, error) {
	if !b.admit(time.Now()) {
		return nil, errOpen
	}
	a, err := call()
	b.learn(err, time.Now())
	return a, err
}

func (b *breaker) admit(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.lost < breakAfter:
		return true
	case now.Before(b.probe):
		return false
	}
	b.probe = now.Add(probeEvery) // this call is the probe
	return true
}

func (b *breaker) learn(err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case errors.Is(err, errBusy), errors.Is(err, context.Canceled): // says nothing about the provider
	case !errors.Is(err, ErrUnavailable):
		b.lost = 0
	default:
		b.lost++
		b.probe = now.Add(probeEvery)
	}
}

// slots bound the calls of one party that are under way, so that a provider
// that hangs holds a bounded part of the service. Documents need none: one
// fetch of each runs at a time, and they have to come through.
type slots chan struct{}

func newSlots() slots { return make(slots, maxCalls) }

func (s slots) take(ctx context.Context) error {
	select {
	case s <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(slotWait)
	defer timer.Stop()
	select {
	case s <- struct{}{}:
		return nil
	case <-timer.C:
		return errBusy
	case <-ctx.Done():
		return errBusy
	}
}

func (s slots) free() { <-s }
