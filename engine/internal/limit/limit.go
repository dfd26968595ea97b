// Package limit counts events against rates, and queues sign-ins at one account. It
// does not depend on HTTP.
package limit

import (
	"container/list"
	"context"
	"errors"
	"sync"
	"time"

	"authsvc/engine/internal/fleet"

	"authsvc"
)

// maxLimiterKeys limits the memory of one limiter. When it is reached, the least
// recently used key is removed.
const maxLimiterKeys = 100_000

// A Limiter counts events per key by the generic cell rate algorithm: N events at once,
// then one every Per/N. It counts in this process.
type Limiter struct {
	name     string // names it in the store, for all replicas
	disabled bool
	Interval time.Duration // between events at the sustained rate
	burst    time.Duration // how far ahead of the clock a key may be
	*counts
}

// counts holds the state of a limiter. Reconfigure passes it on to the limiter of the
// new service.
type counts struct {
	mu   sync.Mutex
	keys map[string]*list.Element
	used *list.List // of *limiterEntry, most recent first
}

type limiterEntry struct {
	key string
	tat time.Time // theoretical arrival time of the next event
}

func newLimiter(name string, r authsvc.Rate, disabled bool) *Limiter {
	l := &Limiter{name: name, disabled: disabled, counts: &counts{keys: map[string]*list.Element{}, used: list.New()}}
	if !disabled {
		l.Interval = r.Per / time.Duration(r.N)
		l.burst = r.Per - l.Interval
	}
	return l
}

// Allow counts an event of key. If there were too many events, it does not count this
// one, and wait is the time until it would.
func (l *Limiter) Allow(key string, now time.Time) (wait time.Duration, ok bool) {
	if l.disabled {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.keys[key]
	if e == nil {
		if l.used.Len() >= maxLimiterKeys {
			oldest := l.used.Back()
			delete(l.keys, oldest.Value.(*limiterEntry).key)
			l.used.Remove(oldest)
		}
		e = l.used.PushFront(&limiterEntry{key: key, tat: now})
		l.keys[key] = e
	} else {
		l.used.MoveToFront(e)
	}
	k := e.Value.(*limiterEntry)
	if k.tat.Before(now) {
		k.tat = now
	}
	if most := now.Add(l.burst + l.Interval); k.tat.After(most) { // counted under a lower rate
		k.tat = most
	}
	if wait = k.tat.Sub(now) - l.burst; wait > 0 {
		return wait, false
	}
	k.tat = k.tat.Add(l.Interval)
	return 0, true
}

// Over reports whether Allow would refuse an event of key. It does not count the event.
func (l *Limiter) Over(key string, now time.Time) bool {
	if l.disabled {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.keys[key]
	return e != nil && e.Value.(*limiterEntry).tat.Sub(now) > l.burst
}

// Limits counts events against rates, in this process and in the store.
type Limits struct {
	*fleet.Common
	all map[string]*Limiter // by name; Reconfigure passes their counts on
}

// New returns Limits without limiters.
func New(g *fleet.Common) *Limits { return &Limits{Common: g, all: map[string]*Limiter{}} }

// Inherit takes over the counts of the service before.
func (li *Limits) Inherit(before *Limits) {
	for name, l := range li.all {
		if was := before.all[name]; was != nil {
			l.counts = was.counts
		}
	}
}

// A Rating makes the limiters of one configuration. A limiter's name identifies it in
// the store, and to Reconfigure, which passes the counts on.
type Rating struct {
	all      map[string]*Limiter
	disabled bool
	fail     func(field, problem, fix string, with ...string)
}

// NewRating returns a Rating that adds its limiters to li. It reports invalid rates to
// fail.
func NewRating(li *Limits, disabled bool, fail func(field, problem, fix string, with ...string)) *Rating {
	return &Rating{li.all, disabled, fail}
}

// Rate returns the rate given for a field of RateLimit, or usual if none is given.
func (r *Rating) Rate(field string, given, usual authsvc.Rate) authsvc.Rate {
	if given == (authsvc.Rate{}) {
		return usual
	}
	if given.N < 1 || given.Per < time.Second {
		r.fail("RateLimit."+field, "is not a rate", "use a count of at least 1 and a period of at least a second")
		return usual
	}
	return given
}

// Limiter makes a limiter called name.
func (r *Rating) Limiter(name string, rate authsvc.Rate) *Limiter {
	l := newLimiter(name, rate, r.disabled)
	r.all[name] = l
	return l
}

// Permit counts an event of key first in this process, which keeps a flood from the
// store, then in the store, for all replicas. If the store fails, the count of this
// process decides.
func (li *Limits) Permit(ctx context.Context, l *Limiter, key string, now time.Time) (wait time.Duration, ok bool) {
	if wait, ok = l.Allow(key, now); !ok || l.disabled {
		return wait, ok
	}
	wait, err := li.PermitStored(ctx, l, key, now)
	return wait, err != nil || wait == 0
}

// PermitStored counts an event of key in the store, for all replicas. If the store
// fails, the error is logged, wait is 0 and nothing is counted.
func (li *Limits) PermitStored(ctx context.Context, l *Limiter, key string, now time.Time) (wait time.Duration, err error) {
	wait, err = li.Adapter.Permit(ctx, fleet.NameOf(l.name, key), now, l.Interval, l.burst)
	switch {
	case errors.Is(err, fleet.ErrNoStorage):
		return 0, err
	case err != nil:
		li.Log.Warn("the store cannot count for a rate limit; the count of this replica applies", "limit", l.name, "err", err)
		return 0, err
	}
	return wait, nil
}
