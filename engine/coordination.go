package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"authsvc"
	"authsvc/internal/backoff"
	"authsvc/internal/seal"
	"authsvc/internal/uuid"
)

// Times of a lease, under which one replica works.
const (
	leaseFor     = 30 * time.Second // until it lapses when its holder has died
	leaseRenew   = 10 * time.Second
	leaseWait    = 20 * time.Second // longest wait for one
	leasePoll    = 50 * time.Millisecond
	leasePollMax = time.Second // leasePoll is doubled up to it; a half of it is by chance
	leaseCall    = 5 * time.Second
)

// lease waits until name is ours and keeps it until release is called. name
// holds no personal data: it is stored as it is.
func (fl *fleet) lease(ctx context.Context, name string) (release func(), err error) {
	return fl.leaseAs(ctx, name, uuid.V7())
}

// leaseAs is lease for a holder that can take it once more, with takeLease, to be
// sure right before it writes.
func (fl *fleet) leaseAs(ctx context.Context, name, holder string) (release func(), err error) {
	end := time.Now().Add(leaseWait)
	for wait := leasePoll; ; wait = min(2*wait, leasePollMax) {
		err := fl.takeLease(ctx, name, holder)
		pause := backoff.Jitter(wait)
		switch {
		case err == nil:
			return fl.holdLease(ctx, name, holder), nil
		case !errors.Is(err, authsvc.ErrConflict):
			return nil, fmt.Errorf("%w: %w", errStore, err)
		case !time.Now().Add(pause).Before(end):
			return nil, authsvc.ErrBusy
		case !sleep(ctx, pause):
			return nil, ctx.Err()
		}
	}
}

func (fl *fleet) takeLease(ctx context.Context, name, holder string) error {
	ctx, cancel := context.WithTimeout(ctx, leaseCall)
	defer cancel()
	now := fl.now()
	return fl.adapter.Lease(ctx, name, holder, now, now.Add(leaseFor))
}

// holdLease renews a lease until release is called. If the process was suspended
// for longer than leaseFor, another may have the lease: that is logged, and the
// work must be safe even then.
func (fl *fleet) holdLease(ctx context.Context, name, holder string) (release func()) {
	held, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for sleep(held, leaseRenew) {
			if err := fl.takeLease(held, name, holder); err != nil && held.Err() == nil {
				fl.log.Warn("a lease could not be renewed", "err", err)
			}
		}
	}()
	return func() {
		end()
		<-ended
		ctx, cancel := detached(ctx, leaseCall)
		defer cancel()
		if err := fl.adapter.Release(ctx, name, holder); err != nil {
			fl.log.Debug("a lease lapses by itself", "err", err)
		}
	}
}

// maxReplays bounds the keys that replayCache remembers.
const maxReplays = 100_000

// A replayCache records keys until they expire. It is the bounded single-use set
// of a service without storage, for this process only, and limits what is done
// or logged once in a while.
type replayCache struct {
	mu   sync.Mutex
	keys map[string]time.Time
}

func newReplayCache() *replayCache { return &replayCache{keys: map[string]time.Time{}} }

// use records key; ErrConflict if it was used before. A full set refuses:
// forgetting keys would let a replay through.
func (c *replayCache) use(key string, now, expires time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.keys[key]; ok && now.Before(e) {
		return authsvc.ErrConflict
	}
	if len(c.keys) >= maxReplays {
		for k, e := range c.keys {
			if !now.Before(e) {
				delete(c.keys, k)
			}
		}
		if len(c.keys) >= maxReplays {
			return authsvc.ErrQueueFull
		}
	}
	c.keys[key] = expires
	return nil
}

// forget lets key be used again.
func (c *replayCache) forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.keys, key)
}

// nameOf hashes parts into the name of a lease or a rate limit, so that the
// store has no personal data there. It depends on no secret, since replicas
// have to agree on it while secrets are rotated.
func nameOf(kind string, parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(strconv.Itoa(len(part)) + ":" + part)
	}
	return kind + ":" + seal.Digest(kind+" "+b.String())
}

// useAttempt uses up the key of an attempt. ErrConflict: it was used before.
func (fl *fleet) useAttempt(ctx context.Context, key string, expires time.Time) error {
	return fl.adapter.UseOnce(ctx, "tx:"+key, expires)
}

func (fl *fleet) deriveKeys(ring *seal.Ring) { fl.credentialBox = ring.Box("credentials") }
