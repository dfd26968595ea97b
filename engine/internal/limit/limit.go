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
	"authsvc/adapter"
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
	key  string
	tat  time.Time // theoretical arrival time of the next event
	held int       // events that hold has admitted and settle has not ended
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
	if wait, ok = l.hold(key, now); ok {
		l.settle(key, now, true)
	}
	return wait, ok
}

// hold is like Allow, but the event counts for others only until settle ends it.
func (l *Limiter) hold(key string, now time.Time) (wait time.Duration, ok bool) {
	if l.disabled {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.entry(key)
	if wait = l.wait(k, now); wait > 0 {
		if most := l.most(now); k.tat.After(most) { // counted under a lower rate
			k.tat = most
		}
		return wait, false
	}
	k.held++
	return 0, true
}

// settle ends the hold on an event, and counts the event if counted is true.
func (l *Limiter) settle(key string, now time.Time, counted bool) {
	if l.disabled {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.entry(key)
	k.held = max(k.held-1, 0) // the entry may have been removed meanwhile
	if counted {
		k.tat = l.clamp(k.tat, now).Add(l.Interval)
	}
}

// entry returns the entry of key, as the most recently used one.
func (l *Limiter) entry(key string) *limiterEntry {
	e := l.keys[key]
	if e == nil {
		if l.used.Len() >= maxLimiterKeys {
			oldest := l.used.Back()
			delete(l.keys, oldest.Value.(*limiterEntry).key)
			l.used.Remove(oldest)
		}
		e = l.used.PushFront(&limiterEntry{key: key})
		l.keys[key] = e
	} else {
		l.used.MoveToFront(e)
	}
	return e.Value.(*limiterEntry)
}

// most returns the latest time that events may have been counted up to.
func (l *Limiter) most(now time.Time) time.Time { return now.Add(l.burst + l.Interval) }

// clamp returns a time from now to most.
func (l *Limiter) clamp(tat, now time.Time) time.Time {
	switch most := l.most(now); {
	case tat.Before(now):
		return now
	case tat.After(most):
		return most
	}
	return tat
}

// wait returns how long an event must wait. It is positive if there were too many.
func (l *Limiter) wait(k *limiterEntry, now time.Time) time.Duration {
	return l.clamp(k.tat, now).Sub(now) + time.Duration(k.held)*l.Interval - l.burst
}

// Over reports whether Allow would refuse an event of key. It does not count the event.
func (l *Limiter) Over(key string, now time.Time) bool {
	if l.disabled {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.keys[key]
	return e != nil && l.wait(e.Value.(*limiterEntry), now) > 0
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

// An Event counts against the limit of a key.
type Event struct {
	Limiter *Limiter
	Key     string
}

// Permit counts events in their order: first in this process, which keeps a flood from
// the store, then in the store in one step, for all replicas. It stops at the first one
// that is refused, and returns the number of those before it: the later ones are not
// counted anywhere. If the store fails, the count of this process decides.
func (li *Limits) Permit(ctx context.Context, now time.Time, events ...Event) (permitted int, wait time.Duration) {
	if events[0].Limiter.disabled { // all are, or none
		return len(events), 0
	}
	held := 0
	defer func() { // even if the store panics
		for i, e := range events[:held] {
			e.Limiter.settle(e.Key, now, i <= permitted)
		}
	}()
	for held < len(events) {
		e, ok := events[held], false
		if wait, ok = e.Limiter.hold(e.Key, now); !ok {
			break
		}
		held++
	}
	permitted = held
	if held == 0 {
		return permitted, wait
	}
	if stored, refused, err := li.PermitStored(ctx, now, events[:held]...); err == nil && stored < held {
		return stored, refused
	}
	return permitted, wait
}

// PermitStored counts events in the store, for all replicas, as Permit does. If the store
// fails, the error is logged.
func (li *Limits) PermitStored(ctx context.Context, now time.Time, events ...Event) (permitted int, wait time.Duration, err error) {
	var quotas []adapter.Quota
	for _, e := range events {
		quotas = append(quotas, adapter.Quota{Key: fleet.NameOf(e.Limiter.name, e.Key), Interval: e.Limiter.Interval, Burst: e.Limiter.burst})
	}
	permitted, wait, err = li.Adapter.Permit(ctx, now, quotas...)
	if err != nil && !errors.Is(err, fleet.ErrNoStorage) {
		li.Log.Warn("the store cannot count for a rate limit; the count of this replica applies", "limit", events[0].Limiter.name, "err", err)
	}
	return permitted, wait, err
}
