package outbound

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// BreakAfter consecutive calls without an answer open a [Breaker]. From then on, one
// call in every ProbeEvery goes through.
const (
	BreakAfter = 5
	ProbeEvery = 5 * time.Second
)

// ErrOpen and ErrBusy are [ErrUnavailable] without a call having been made.
var (
	ErrOpen = fmt.Errorf("%w: it did not answer the last calls; the next one is tried in a few seconds", ErrUnavailable)
	ErrBusy = fmt.Errorf("%w: too many calls to it are in progress", ErrUnavailable)
)

// A Breaker stops calls to an endpoint that no longer answers, so that people see an
// error at once instead of after a timeout. It counts only calls without any answer. A
// 5xx is an answer: the data from a browser may have caused it, and otherwise its
// sender could shut off the provider for everyone.
//
// Documents need no Breaker, since their readers cache them. The zero Breaker is ready
// to use.
type Breaker struct {
	mu    sync.Mutex
	lost  int       // consecutive calls without an answer
	probe time.Time // the next call, once lost is BreakAfter
}

// Do makes a call unless the breaker is open.
func (b *Breaker) Do(call func() (*Response, error)) (*Response, error) {
	if !b.allow(time.Now()) {
		return nil, ErrOpen
	}
	a, err := call()
	b.record(err, time.Now())
	return a, err
}

func (b *Breaker) allow(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.lost < BreakAfter:
		return true
	case now.Before(b.probe):
		return false
	}
	b.probe = now.Add(ProbeEvery) // this call is the probe
	return true
}

func (b *Breaker) record(err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case errors.Is(err, ErrBusy), errors.Is(err, context.Canceled): // says nothing about the provider
	case !errors.Is(err, ErrUnavailable):
		b.lost = 0
	default:
		b.lost++
		b.probe = now.Add(ProbeEvery)
	}
}
