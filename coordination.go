package authsvc

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"authsvc/internal/seal"
	"authsvc/internal/uuid"
)

// Times of a lease that keeps one piece of work from all other replicas.
const (
	leaseFor     = 30 * time.Second // lapses so long after its holder died
	leaseRenew   = 10 * time.Second
	leaseWait    = 20 * time.Second // longest wait for one
	leasePoll    = 50 * time.Millisecond
	leasePollMax = time.Second // leasePoll is doubled up to it
	leaseCall    = 5 * time.Second
)

// ErrBusy: another replica does the same work and has not ended for 20 s; or
// it died, and its lease lapses soon.
var ErrBusy = errors.New("authsvc: another replica is at work on this")

// lease waits until name is ours and keeps it until release is called. name
// holds no personal data: it is stored as it is.
func (s *Service) lease(ctx context.Context, name string) (release func(), err error) {
	holder := uuid.V7()
	end := time.Now().Add(leaseWait)
	for wait := leasePoll; ; wait = min(2*wait, leasePollMax) {
		err := s.takeLease(ctx, name, holder)
		switch {
		case err == nil:
			return s.holdLease(ctx, name, holder), nil
		case !errors.Is(err, ErrConflict):
			return nil, fmt.Errorf("%w: %w", errStore, err)
		case !time.Now().Add(wait).Before(end):
			return nil, ErrBusy
		case !sleep(ctx, wait):
			return nil, ctx.Err()
		}
	}
}

func (s *Service) takeLease(ctx context.Context, name, holder string) error {
	ctx, cancel := context.WithTimeout(ctx, leaseCall)
	defer cancel()
	now := s.now()
	return s.adapter.Lease(ctx, name, holder, now, now.Add(leaseFor))
}

// holdLease renews a lease until release is called. A process that slept for
// longer than the lease may find that another has it: that is logged, and what
// is under way must bear it.
func (s *Service) holdLease(ctx context.Context, name, holder string) (release func()) {
	held, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for sleep(held, leaseRenew) {
			if err := s.takeLease(held, name, holder); err != nil && held.Err() == nil {
				s.log.Warn("a lease could not be renewed", "err", err)
			}
		}
	}()
	return func() {
		end()
		<-ended
		ctx, cancel := detached(ctx, leaseCall)
		defer cancel()
		if err := s.adapter.Release(ctx, name, holder); err != nil {
			s.log.Debug("a lease lapses by itself", "err", err)
		}
	}
}

// maxReplays bounds the keys that replayCache remembers.
const maxReplays = 100_000

// replayCache is the single-use set of a service without storage: bounded, and of
// this process only, which docs say. It is also used for what is to be done
// once a while.
type replayCache struct {
	mu   sync.Mutex
	keys map[string]time.Time
}

func newReplayCache() *replayCache { return &replayCache{keys: map[string]time.Time{}} }

// use records key; ErrConflict if it was used before. A full set refuses:
// forgetting keys would let a replay through.
func (o *replayCache) use(key string, now, expires time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e, ok := o.keys[key]; ok && now.Before(e) {
		return ErrConflict
	}
	if len(o.keys) >= maxReplays {
		for k, e := range o.keys {
			if !now.Before(e) {
				delete(o.keys, k)
			}
		}
		if len(o.keys) >= maxReplays {
			return ErrQueueFull
		}
	}
	o.keys[key] = expires
	return nil
}

// forget lets key be used again.
func (o *replayCache) forget(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.keys, key)
}

// nameOf is a name in the store for what is not to be read there, such as whom
// a lease or a rate limit is about. It depends on no secret: replicas that are
// about to change theirs still have to meet.
func nameOf(kind string, parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(strconv.Itoa(len(part)) + ":" + part)
	}
	return kind + ":" + seal.Digest(kind+" "+b.String())
}
