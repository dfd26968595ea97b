package oidc

import (
	"context"
	"errors"
	"sync"
	"time"

	"authsvc/internal/protocol/outbound"
)

const (
	freshFor   = time.Hour        // a document is used without a new fetch
	staleFor   = 24 * time.Hour   // and, while its source fails, for at most this long
	staleWait  = 2 * time.Second  // how long a caller waits for a fetch if an old document is available
	retryAfter = 5 * time.Second  // no fetch for this long after a failed one
	renewEvery = 30 * time.Second // minimum time between two early renewals
)

var (
	errRenewedLately = errors.New("renewed a moment ago")
	errPanicked      = errors.New("reading the document failed unexpectedly")
)

// cached holds one document of the provider, fetched when first needed. At most one
// fetch runs at a time, and all callers wait for it. A failed fetch is not repeated for
// retryAfter.
type cached[T any] struct {
	fetch func(context.Context) (T, error)
	stale func(error) // if set, called when a fetch fails while an older document is used; once, until a fetch succeeds

	mu      sync.Mutex
	value   T
	fetched time.Time     // when value was fetched; zero: never
	failure error         // of the last fetch
	retryAt time.Time     // no fetch before
	renewAt time.Time     // no renewal before
	running chan struct{} // closed when the fetch in progress ends; nil: none
}

// get returns the document. If it is older than freshFor, get fetches it. If that fails
// or takes longer than staleWait, a document not older than staleFor is returned.
func (c *cached[T]) get(ctx context.Context) (T, error) {
	value, age := c.last()
	if age < freshFor {
		return value, nil
	}
	usable := age < staleFor
	wait, cancel := ctx, context.CancelFunc(func() {})
	if usable {
		wait, cancel = context.WithTimeout(ctx, staleWait)
	}
	defer cancel()
	err := c.await(wait, false)
	if err != nil && !usable {
		var none T
		return none, err
	}
	value, _ = c.last()
	return value, nil
}

// renew fetches early, because the document lacks something. It does so at most once in
// renewEvery for all callers; otherwise it returns errRenewedLately.
func (c *cached[T]) renew(ctx context.Context) error {
	return c.await(ctx, true)
}

// last returns the cached document and its age, which is infinite if it was never
// fetched.
func (c *cached[T]) last() (T, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fetched.IsZero() {
		return c.value, 1<<63 - 1
	}
	return c.value, time.Since(c.fetched)
}

// await joins or starts a fetch and waits until it or ctx ends.
func (c *cached[T]) await(ctx context.Context, renewal bool) error {
	running, err := c.start(ctx, renewal)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return outbound.TransportError(ctx.Err())
	case <-running:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

func (c *cached[T]) start(ctx context.Context, renewal bool) (<-chan struct{}, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running != nil {
		return c.running, nil
	}
	now := time.Now()
	if now.Before(c.retryAt) {
		return nil, c.failure
	}
	if renewal {
		if now.Before(c.renewAt) {
			return nil, errRenewedLately
		}
		c.renewAt = now.Add(renewEvery)
	}
	c.running = make(chan struct{})
	// Other callers may wait for this fetch, so it continues if the caller goes away.
	go c.run(context.WithoutCancel(ctx))
	return c.running, nil
}

func (c *cached[T]) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, outbound.Timeout)
	defer cancel()
	value, err := c.fetchSafely(ctx)
	if c.end(value, err) && c.stale != nil {
		c.stale(err)
	}
}

// end records the outcome of a fetch. It reports whether an older document must be used
// from now on.
func (c *cached[T]) end(value T, err error) (news bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	news = err != nil && c.failure == nil && !c.fetched.IsZero()
	if c.failure = err; err == nil {
		c.value, c.fetched = value, now
	} else {
		c.retryAt = now.Add(retryAfter)
	}
	close(c.running)
	c.running = nil
	return news
}

// fetchSafely turns a panic into an error. This goroutine belongs to no request, so a
// hostile document that makes a parser panic would otherwise end the process.
func (c *cached[T]) fetchSafely(ctx context.Context) (value T, err error) {
	defer func() {
		if recover() != nil {
			err = errPanicked
		}
	}()
	return c.fetch(ctx)
}
