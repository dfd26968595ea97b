package adaptertest

import (
	"sync/atomic"
	"testing"
	"time"

	"authsvc/adapter"
)

// permitMoments counts requests out of order. A request that is older than the first
// counted one may wait until that time, but no permit is lost.
func permitMoments(t *testing.T, a adapter.Adapter) {
	later := at(0).Add(300 * time.Millisecond)
	permitted(t, a, "turned", later, 0)
	permitted(t, a, "turned", at(0), 0)
	permitted(t, a, "turned", at(0), 300*time.Millisecond)
	permitted(t, a, "turned", later, 0)
	permitted(t, a, "turned", later, 10*time.Second)

	const interval, most, spread = 10 * time.Second, 10, workers * 5 * time.Millisecond
	permit := func(moment time.Time) (time.Duration, error) {
		_, wait, err := a.Permit(t.Context(), moment, adapter.Quota{Key: "crowd", Interval: interval, Burst: (most - 1) * interval})
		return wait, err
	}
	var counted atomic.Int32
	nWin(t, race(workers, func(i int) error {
		wait, err := permit(at(0).Add(time.Duration(i) * 5 * time.Millisecond))
		switch {
		case err != nil:
		case wait == 0:
			counted.Add(1)
		case wait > interval+spread:
			t.Errorf("told to wait for %v", wait)
		}
		return err
	}), workers, nil)
	if n := counted.Load(); n > most {
		t.Errorf("%d were permitted", n)
	}
	for range most - counted.Load() {
		wait, err := permit(at(0).Add(spread))
		ok(t, err)
		same(t, wait, 0)
	}
	if wait, err := permit(at(0).Add(spread)); err != nil || wait == 0 {
		t.Errorf("one too many is permitted (%v)", err)
	}
}
