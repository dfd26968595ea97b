package adaptertest

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"authsvc/adapter"
)

func permitTests() []test {
	return []test{
		{"Permit/burst, then one an interval", permitRate},
		{"Permit/no longer than an interval, whatever the clocks", permitBound},
		{"Permit/concurrent", permitRace},
		{"Permit/counted in another order", permitMoments},
		{"Permit/while it is swept", permitSwept},
		{"Permit/several quotas, up to the first that refuses", permitSeveral},
		{"Permit/several quotas, concurrent", permitSeveralRace},
		{"Permit/the last events of several quotas, concurrent", permitSeveralLast},
		{"Lease/one holder until it lapses", leaseHolder},
		{"Lease/concurrent", leaseRace},
		{"Lease/taken and released at once", leaseTurns},
	}
}

// three is a quota of three events at once, then one every 10 s.
func three(key string) adapter.Quota {
	return adapter.Quota{Key: key, Interval: 10 * time.Second, Burst: 20 * time.Second}
}

// permitted counts an event at now, with an interval of 10 s and a burst of three.
func permitted(t *testing.T, a adapter.Adapter, key string, now time.Time, want time.Duration) {
	t.Helper()
	n, wait, err := a.Permit(t.Context(), now, three(key))
	ok(t, err)
	same(t, wait, want)
	same(t, n == 1, want == 0)
}

func permitRate(t *testing.T, a adapter.Adapter) {
	for range 3 {
		permitted(t, a, "k", at(0), 0)
	}
	permitted(t, a, "k", at(0), 10*time.Second)
	permitted(t, a, "k", at(0), 10*time.Second) // a refused event is not counted
	permitted(t, a, "K", at(0), 0)              // another key
	permitted(t, a, "k ", at(0), 0)             // and a third key
	permitted(t, a, "k", at(3), 7*time.Second)
	permitted(t, a, "k", at(10), 0)
	permitted(t, a, "k", at(10), 10*time.Second)
	for range 3 {
		permitted(t, a, "k", at(1000), 0) // after a pause
	}
	permitted(t, a, "k", at(1000), 10*time.Second)
	permitted(t, a, "k", at(995), 10*time.Second) // a replica whose clock is behind: waits at most an interval
}

// permitBound checks that a time stored by a wrong clock, or for another rate, delays
// no event for longer than the current rate allows.
func permitBound(t *testing.T, a adapter.Adapter) {
	for range 3 {
		permitted(t, a, "k", at(3*3600), 0) // a clock that is later set back
	}
	permitted(t, a, "k", at(0), 10*time.Second)
	permitted(t, a, "k", at(4), 6*time.Second) // from then on time passes
	permitted(t, a, "k", at(10), 0)
	permitted(t, a, "l", at(0), 0)
	n, wait, err := a.Permit(t.Context(), at(0), adapter.Quota{Key: "l", Interval: time.Hour, Burst: 3 * time.Hour}) // a rate that is later changed
	ok(t, err)
	same(t, n, 1)
	same(t, wait, 0)
	permitted(t, a, "l", at(0), 10*time.Second)
}

func permitRace(t *testing.T, a adapter.Adapter) {
	var counted atomic.Int32
	nWin(t, race(workers, func(int) error {
		n, wait, err := a.Permit(t.Context(), at(0), three("k"))
		if err == nil && wait == 0 {
			counted.Add(int32(n)) // #nosec G115 -- 0 or 1
		}
		return err
	}), workers, nil)
	same(t, counted.Load(), 3)
}

func leaseHolder(t *testing.T, a adapter.Adapter) {
	ctx := t.Context()
	ok(t, a.Lease(ctx, "sweep", "ann", at(0), at(60)))
	is(t, a.Lease(ctx, "sweep", "bob", at(1), at(61)), adapter.ErrConflict)
	is(t, a.Lease(ctx, "sweep", "Ann", at(1), at(61)), adapter.ErrConflict)
	ok(t, a.Lease(ctx, "other", "bob", at(1), at(61)))
	ok(t, a.Lease(ctx, "sweep", "ann", at(50), at(110))) // renewed
	is(t, a.Lease(ctx, "sweep", "bob", at(61), at(121)), adapter.ErrConflict)
	is(t, a.Lease(ctx, "sweep", "bob", at(110), at(121)), adapter.ErrConflict)
	ok(t, a.Release(ctx, "sweep", "bob")) // the lease is not bob's
	is(t, a.Lease(ctx, "sweep", "bob", at(61), at(121)), adapter.ErrConflict)
	ok(t, a.Lease(ctx, "sweep", "bob", at(111), at(200))) // lapsed
	is(t, a.Lease(ctx, "sweep", "ann", at(112), at(300)), adapter.ErrConflict)
	ok(t, a.Release(ctx, "sweep", "bob"))
	ok(t, a.Release(ctx, "sweep", "bob"))
	ok(t, a.Lease(ctx, "sweep", "ann", at(113), at(300)))
}

func leaseRace(t *testing.T, a adapter.Adapter) {
	oneWins(t, race(workers, func(i int) error {
		return a.Lease(t.Context(), "sweep", numbered("holder", i), at(0), at(60))
	}), adapter.ErrConflict)
	oneWins(t, race(workers, func(i int) error { // for a lapsed lease
		return a.Lease(t.Context(), "sweep", numbered("other", i), at(61), at(120))
	}), adapter.ErrConflict)
}

// leaseTurns releases a lease between a caller's look at it and its attempt to hold it.
func leaseTurns(t *testing.T, a adapter.Adapter) {
	ctx := t.Context()
	nWin(t, race(8, func(i int) error {
		for range 20 {
			err := a.Lease(ctx, "turn", numbered("holder", i), at(0), at(60))
			if err == nil {
				err = a.Release(ctx, "turn", numbered("holder", i))
			}
			if err != nil && !errors.Is(err, adapter.ErrConflict) {
				return err
			}
		}
		return nil
	}), 8, nil)
	ok(t, a.Lease(ctx, "turn", "last", at(0), at(60)))
}

// permitSwept sweeps lapsed records while callers use them. A sweep that loses to a
// caller is tried again.
func permitSwept(t *testing.T, a adapter.Adapter) {
	ctx := t.Context()
	nWin(t, race(8, func(i int) error {
		for n := range 20 {
			if i == 0 { // only one worker sweeps
				a.Sweep(ctx, at(1000+n), 100) //nolint:errcheck // see below
			} else if _, _, err := a.Permit(ctx, at(n), adapter.Quota{Key: "swept", Interval: time.Second, Burst: time.Hour}); err != nil {
				return err
			}
		}
		return nil
	}), 8, nil)
	n, err := a.Sweep(ctx, at(10_000), 100)
	ok(t, err)
	if n > 1 {
		t.Errorf("%d records are left of one key", n)
	}
}
