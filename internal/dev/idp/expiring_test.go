package idp

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestExpiringStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := newExpiringStore[string](time.Minute, 2)
		has := func(secret, want string) {
			t.Helper()
			if got, ok := v.get(secret); got != want || ok != (want != "") {
				t.Errorf("got %q, %v, want %q", got, ok, want)
			}
		}
		a, b := v.put("a"), v.put("b")
		if len(a) < 26 || a == b {
			t.Errorf("secrets %q and %q", a, b)
		}
		has(a, "a")
		has(b, "b")
		has(a+"x", "")
		has("", "")

		c := v.put("c") // full: drops the oldest
		has(a, "")
		has(b, "b")
		has(c, "c")

		time.Sleep(time.Minute)
		has(b, "")
		has(c, "")
		v.put("d") // removes expired entries
		if len(v.entries) != 1 || len(v.order) != 1 {
			t.Errorf("%d entries, %d in order, want 1", len(v.entries), len(v.order))
		}
	})
}

func TestInitials(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Ada Lovelace": "AL", "ada king lovelace": "AL", "Prince": "P", "  ": "", "émile zola": "ÉZ",
	} {
		if got := initials(name); got != want {
			t.Errorf("initials(%q) = %q, want %q", name, got, want)
		}
	}
}
