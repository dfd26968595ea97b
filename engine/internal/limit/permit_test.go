package limit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine/internal/fleet"
)

// A broken store cannot count.
type broken struct{ adapter.Adapter }

func (broken) Permit(context.Context, time.Time, ...adapter.Quota) (int, time.Duration, error) {
	return 0, 0, errors.New("no permits today")
}

// Of several limits, the one that refuses decides, in this process or in the store, and
// those after it are not counted in either.
func TestPermitStopsAtARefusal(t *testing.T) {
	t.Parallel()
	const length, most = 4, 3
	now := time.Unix(1_900_000_000, 0)
	replica := func(store adapter.Adapter) (*Limits, []Event) {
		li := New(&fleet.Common{Adapter: store, Log: slog.New(slog.DiscardHandler)})
		var events []Event
		for i := range length {
			l := newLimiter(fmt.Sprint("limit ", i), authsvc.Rate{N: most, Per: time.Minute}, false)
			li.all[l.name], events = l, append(events, Event{l, "key"})
		}
		return li, events
	}
	// spend counts as many events of one limit as are permitted.
	spend := func(li *Limits, e Event) (n int) {
		for {
			permitted, _ := li.Permit(t.Context(), now, e)
			if n += permitted; permitted == 0 {
				return n
			}
		}
	}
	for _, where := range []string{"in this process", "in the store", "in this process, without the store"} {
		for refuses := range length + 1 {
			var store adapter.Adapter = memory.New()
			if where == "in this process, without the store" {
				store = broken{store}
			}
			li, events := replica(store)
			if refuses < length {
				by, its := li, events
				if where == "in the store" {
					by, its = replica(store)
				}
				spend(by, its[refuses])
			}
			n, wait := li.Permit(t.Context(), now, events...)
			if n != refuses || (wait > 0) != (n < length) || wait > time.Minute/most {
				t.Errorf("%s, number %d refuses: %d were permitted, wait %v", where, refuses, n, wait)
			}
			for i, e := range events {
				want := most - 1
				switch {
				case i == refuses:
					want = 0
				case i > refuses:
					want = most
				}
				// The counts of the process, and then those of all replicas.
				alone := 0
				for l := *e.Limiter; ; alone++ {
					if _, ok := l.hold(e.Key, now); !ok {
						break
					}
				}
				for range alone {
					e.Limiter.settle(e.Key, now, false)
				}
				if i == refuses && where == "in the store" {
					if alone != most-1 { // it was counted here before the store refused it
						t.Errorf("%s, number %d refuses: this process permits %d more of it", where, refuses, alone)
					}
				} else if alone != want {
					t.Errorf("%s, number %d refuses: this process permits %d more of number %d, want %d", where, refuses, alone, i, want)
				}
				if n := spend(li, e); n != want {
					t.Errorf("%s, number %d refuses: %d more of number %d, want %d", where, refuses, n, i, want)
				}
			}
		}
	}
}

// An event that waits for the store counts for others.
func TestHeldEventsCount(t *testing.T) {
	t.Parallel()
	l, now := newLimiter("test", authsvc.Rate{N: 2, Per: time.Minute}, false), time.Unix(1_900_000_000, 0)
	admitted := func(want ...bool) {
		t.Helper()
		for i, want := range want {
			if _, ok := l.hold("k", now); ok != want {
				t.Errorf("attempt %d: %v", i, ok)
			}
		}
	}
	admitted(true, true, false)
	if !l.Over("k", now) {
		t.Error("one more is permitted")
	}
	l.settle("k", now, false)
	admitted(true, false)
	l.settle("k", now, true)
	l.settle("k", now, true)
	admitted(false)
	now = now.Add(30 * time.Second)
	admitted(true, false)
}
