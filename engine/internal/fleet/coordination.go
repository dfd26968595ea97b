package fleet

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/seal"
	"authsvc/internal/sql/stores"
)

// Times of a lease. The replica that holds a lease does the work.
const (
	LeaseFor     = 30 * time.Second // until it lapses if its holder has died
	leaseRenew   = 10 * time.Second
	leaseWait    = 20 * time.Second // longest wait for a lease
	leasePoll    = 50 * time.Millisecond
	leasePollMax = time.Second // leasePoll doubles up to this; half of each wait is random
	LeaseCall    = 5 * time.Second
)

// Lease waits until it holds the lease called name, and keeps it until release is
// called. name must not contain personal data: it is stored as it is.
func (fl *Fleet) Lease(ctx context.Context, name string) (release func(), err error) {
	return fl.LeaseAs(ctx, name, seal.UUIDv7())
}

// LeaseAs is Lease for a given holder, which can take the lease again with TakeLease to
// be sure of it right before a write.
func (fl *Fleet) LeaseAs(ctx context.Context, name, holder string) (release func(), err error) {
	end := time.Now().Add(leaseWait)
	for wait := leasePoll; ; wait = min(2*wait, leasePollMax) {
		err := fl.TakeLease(ctx, name, holder)
		pause := stores.Jitter(wait)
		switch {
		case err == nil:
			return fl.HoldLease(ctx, name, holder), nil
		case !errors.Is(err, adapter.ErrConflict):
			return nil, StoreFailed(err)
		case !time.Now().Add(pause).Before(end):
			return nil, authsvc.ErrBusy
		case !Sleep(ctx, pause):
			return nil, ctx.Err()
		}
	}
}

// TakeLease takes or renews a lease without waiting. It returns ErrConflict if another
// holder has it.
func (fl *Fleet) TakeLease(ctx context.Context, name, holder string) error {
	ctx, cancel := context.WithTimeout(ctx, LeaseCall)
	defer cancel()
	now := fl.Now()
	return fl.Adapter.Lease(ctx, name, holder, now, now.Add(LeaseFor))
}

// HoldLease renews a lease until release is called. If the process was suspended for
// longer than LeaseFor, another holder may have the lease: this is logged, and the work
// must be safe even then.
func (fl *Fleet) HoldLease(ctx context.Context, name, holder string) (release func()) {
	held, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for Sleep(held, leaseRenew) {
			fl.panics("the renewal of a lease", func() {
				if err := fl.TakeLease(held, name, holder); err != nil && held.Err() == nil {
					fl.Log.Warn("cannot renew a lease", "err", err)
				}
			})
		}
	}()
	return func() {
		end()
		<-ended
		ctx, cancel := Detached(ctx, LeaseCall)
		defer cancel()
		if err := fl.Adapter.Release(ctx, name, holder); err != nil {
			fl.Log.Debug("cannot release a lease; it lapses by itself", "err", err)
		}
	}
}

// New returns a Fleet. Call Open before Go, RunTask and the other methods that use the
// contexts of the background work.
func New(g *Common) *Fleet { return &Fleet{Common: g, warned: NewReplayCache()} }

// maxReplays limits the keys that a ReplayCache remembers.
const maxReplays = 100_000

// A ReplayCache records keys until they expire. A service without storage keeps its
// used keys in one, which is bounded and covers this process only. Other ReplayCaches
// limit how often something is done or logged.
type ReplayCache struct {
	mu   sync.Mutex
	keys map[string]time.Time
}

// NewReplayCache returns an empty ReplayCache.
func NewReplayCache() *ReplayCache { return &ReplayCache{keys: map[string]time.Time{}} }

// Use records key, or returns ErrConflict if key was used before. A full cache refuses
// with ErrQueueFull: forgetting keys would let a replay through.
func (c *ReplayCache) Use(key string, now, expires time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.keys[key]; ok && now.Before(e) {
		return adapter.ErrConflict
	}
	if len(c.keys) >= maxReplays {
		for k, e := range c.keys {
			if !now.Before(e) {
				delete(c.keys, k)
			}
		}
		if len(c.keys) >= maxReplays {
			return adapter.ErrQueueFull
		}
	}
	c.keys[key] = expires
	return nil
}

// Forget lets key be used again.
func (c *ReplayCache) Forget(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.keys, key)
}

// FirstInMinute reports whether this is the first call for key within a minute.
func (fl *Fleet) FirstInMinute(key string, now time.Time) bool {
	return fl.warned.Use(key, now, now.Add(time.Minute)) == nil
}

// NameOf hashes parts into the name of a lease or a rate limit, so that the store holds
// no personal data there. The hash does not depend on a secret, since replicas must
// agree on it while secrets are rotated.
func NameOf(kind string, parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(strconv.Itoa(len(part)) + ":" + part)
	}
	return kind + ":" + seal.Digest(kind+" "+b.String())
}

// UseAttempt uses up the key of an attempt. It returns ErrConflict if the key was used
// before.
func (fl *Fleet) UseAttempt(ctx context.Context, key string, expires time.Time) error {
	return fl.Adapter.UseOnce(ctx, "tx:"+key, expires)
}

// DeriveKeys derives the keys of sealed records.
func (fl *Fleet) DeriveKeys(ring *seal.Ring) { fl.credentialBox = ring.Box("credentials") }
