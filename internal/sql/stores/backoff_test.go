package stores

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestWait checks that Wait takes the given time, unless the context ends first.
func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := Wait(t.Context(), time.Minute); err != nil || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if err := Wait(ctx, time.Minute); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestJitter(t *testing.T) {
	t.Parallel()
	const d = time.Second
	seen := map[time.Duration]bool{}
	for range 1000 {
		got := Jitter(d)
		if got < d/2 || got >= d {
			t.Fatalf("%v", got)
		}
		seen[got] = true
	}
	if len(seen) < 900 {
		t.Errorf("only %d different times", len(seen))
	}
}
