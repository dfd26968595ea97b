package adaptertest

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"authsvc/adapter"
)

// remaining returns how many events a quota permits at the time at(0), and counts them.
func remaining(t *testing.T, a adapter.Adapter, q adapter.Quota) (n int) {
	t.Helper()
	for {
		permitted, _, err := a.Permit(t.Context(), at(0), q)
		ok(t, err)
		if n += permitted; permitted == 0 {
			return n
		}
	}
}

// permitSeveral counts events against several quotas, of which one or none refuses. The
// order of the keys is not the order of the quotas.
func permitSeveral(t *testing.T, a adapter.Adapter) {
	n, wait, err := a.Permit(t.Context(), at(0))
	ok(t, err)
	same(t, n, 0)
	same(t, wait, 0)
	for length := 1; length <= 6; length++ {
		for refuses := range length + 1 {
			var list []adapter.Quota
			for i := range length {
				list = append(list, three(fmt.Sprintf("%d of %d, %d refuses", (i+length/2)%length, length, refuses)))
			}
			wantWait := time.Duration(0)
			if refuses < length {
				remaining(t, a, list[refuses])
				wantWait = 10 * time.Second
			}
			n, wait, err := a.Permit(t.Context(), at(0), list...)
			ok(t, err)
			same(t, n, refuses)
			same(t, wait, wantWait)
			for i, q := range list {
				want := 3 // after the quota that refuses
				switch {
				case i < refuses:
					want = 2
				case i == refuses:
					want = 0
				}
				if n := remaining(t, a, q); n != want {
					t.Errorf("%d quotas, of which number %d refuses: %d events are left under number %d, want %d", length, refuses, n, i, want)
				}
			}
		}
	}
	// Quotas of one call may differ, and later times count.
	list := []adapter.Quota{three("short"), {Key: "long", Interval: time.Hour}}
	n, wait, err = a.Permit(t.Context(), at(0), list...)
	ok(t, err)
	same(t, n, 2)
	same(t, wait, 0)
	n, wait, err = a.Permit(t.Context(), at(60), list...)
	ok(t, err)
	same(t, n, 1)
	same(t, wait, 59*time.Minute)
	n, wait, err = a.Permit(t.Context(), at(3600), list...)
	ok(t, err)
	same(t, n, 2)
	same(t, wait, 0)
	same(t, remaining(t, a, three("short")), 0) // paid until 3610: the clock of at(0) is behind
}

// permitSeveralRace counts against shared and own quotas, in different orders. What is
// left must agree with the answers.
func permitSeveralRace(t *testing.T, a adapter.Adapter) {
	lists := make([][]adapter.Quota, workers)
	counts := make([]int, workers)
	for i := range lists {
		lists[i] = []adapter.Quota{three("shared"), three(numbered("own", i)), three(numbered("group", i%16))}
		if i%2 > 0 {
			slices.Reverse(lists[i])
		}
	}
	nWin(t, race(workers, func(i int) (err error) {
		var wait time.Duration
		counts[i], wait, err = a.Permit(t.Context(), at(0), lists[i]...)
		if err == nil && (counts[i] < len(lists[i])) != (wait > 0) {
			t.Errorf("%d of %d permitted, wait %v", counts[i], len(lists[i]), wait)
		}
		return err
	}), workers, nil)
	counted := map[string]int{}
	for i, list := range lists {
		for j, q := range list {
			if n := counted[q.Key]; j < counts[i] {
				counted[q.Key] = n + 1
			} else {
				counted[q.Key] = n
			}
		}
	}
	same(t, counted["shared"], 3)
	for key, n := range counted {
		if rest := remaining(t, a, three(key)); rest != 3-n {
			t.Errorf("%s: %d were permitted, and then %d", key, n, rest)
		}
	}
}

// permitSeveralLast counts the last 1 to 10 events of several quotas that callers ask in
// different orders: none is counted twice, and none is lost.
func permitSeveralLast(t *testing.T, a adapter.Adapter) {
	const interval, callers = 10 * time.Second, workers / 4
	for round := range 8 {
		quotas, left := make([]adapter.Quota, 4), make([]int, 4)
		for i := range quotas {
			left[i] = 1 + (round+3*i)%10
			quotas[i] = adapter.Quota{Key: fmt.Sprint("last ", i, " of round ", round), Interval: interval, Burst: 10 * interval}
			before := quotas[i] // one event that pays for all but the last
			before.Interval = time.Duration(11-left[i]) * interval
			n, _, err := a.Permit(t.Context(), at(0), before)
			ok(t, err)
			same(t, n, 1)
		}
		var counted [4]atomic.Int32
		nWin(t, race(callers, func(i int) error {
			var order []int
			for j := range 2 + i%3 {
				order = append(order, (i+j)%len(quotas))
			}
			if i%2 > 0 {
				slices.Reverse(order)
			}
			var list []adapter.Quota
			for _, k := range order {
				list = append(list, quotas[k])
			}
			n, wait, err := a.Permit(t.Context(), at(0), list...)
			if err == nil && (n < len(list)) != (wait > 0) {
				t.Errorf("%d of %d permitted, wait %v", n, len(list), wait)
			}
			for _, k := range order[:n] {
				counted[k].Add(1)
			}
			return err
		}), callers, nil)
		for i, q := range quotas {
			n := int(counted[i].Load())
			if rest := remaining(t, a, q); n+rest != left[i] {
				t.Errorf("round %d, quota %d: %d events were left, %d permitted, and then %d", round, i, left[i], n, rest)
			}
		}
	}
}
