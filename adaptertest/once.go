package adaptertest

import (
	"testing"

	"authsvc/adapter"
)

func onceTests() []test {
	return []test{
		{"UseOnce/once", onceOnce},
		{"UseOnce/byte for byte", onceExact},
		{"UseOnce/again after a sweep", onceSwept},
		{"UseOnce/concurrent", onceRace},
	}
}

func onceOnce(t *testing.T, a adapter.Adapter) {
	ok(t, a.UseOnce(t.Context(), "k", at(1)))
	is(t, a.UseOnce(t.Context(), "k", at(100)), adapter.ErrConflict)
	ok(t, a.UseOnce(t.Context(), "other", at(1)))
}

func onceExact(t *testing.T, a adapter.Adapter) {
	for _, key := range lookalikes() {
		ok(t, a.UseOnce(t.Context(), key, at(1)))
		is(t, a.UseOnce(t.Context(), key, at(1)), adapter.ErrConflict)
	}
}

func onceSwept(t *testing.T, a adapter.Adapter) {
	ok(t, a.UseOnce(t.Context(), "k", at(1)))
	_, err := a.Sweep(t.Context(), at(1), 10) // keeps the key: it expires at 1, not before
	ok(t, err)
	is(t, a.UseOnce(t.Context(), "k", at(1)), adapter.ErrConflict)
	n, err := a.Sweep(t.Context(), at(2), 10)
	ok(t, err)
	same(t, n, 1)
	ok(t, a.UseOnce(t.Context(), "k", at(100)))
}

func onceRace(t *testing.T, a adapter.Adapter) {
	oneWins(t, race(workers, func(int) error { return a.UseOnce(t.Context(), "k", at(1)) }), adapter.ErrConflict)
}
