package oidc

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc/internal/protocol/outbound"
)

func TestCachedSingleFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fetches := 0
		c := cached[int]{fetch: func(context.Context) (int, error) {
			time.Sleep(time.Second)
			fetches++
			return fetches, nil
		}}
		// The caller that starts the fetch gives up at once; the others still get the
		// result.
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := c.get(ctx); !errors.Is(err, outbound.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		var wg sync.WaitGroup
		for range 64 {
			wg.Go(func() {
				if v, err := c.get(t.Context()); v != 1 || err != nil {
					t.Errorf("%d, %v", v, err)
				}
			})
		}
		wg.Wait()
		time.Sleep(freshFor)
		if v, err := c.get(t.Context()); v != 2 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
	})
}

func TestCachedFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fetches, failing := 0, true
		c := cached[int]{fetch: func(context.Context) (int, error) {
			if fetches++; failing {
				return 0, outbound.ErrUnavailable
			}
			return fetches, nil
		}}
		for range 10 {
			if _, err := c.get(t.Context()); !errors.Is(err, outbound.ErrUnavailable) {
				t.Errorf("%v", err)
			}
		}
		if fetches != 1 {
			t.Errorf("%d fetches in no time", fetches)
		}
		time.Sleep(retryAfter)
		failing = false
		if v, err := c.get(t.Context()); v != 2 || err != nil {
			t.Errorf("%d, %v", v, err)
		}
	})
}

// TestCachedStaleWait checks that a hanging source delays callers little if an old
// document is available.
func TestCachedStaleWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hang := false
		c := cached[int]{fetch: func(ctx context.Context) (int, error) {
			if hang {
				<-ctx.Done()
				return 0, ctx.Err()
			}
			return 1, nil
		}}
		if _, err := c.get(t.Context()); err != nil {
			t.Fatal(err)
		}
		hang = true
		time.Sleep(freshFor)
		start := time.Now()
		if v, err := c.get(t.Context()); v != 1 || err != nil || time.Since(start) != staleWait {
			t.Errorf("%d, %v after %v", v, err, time.Since(start))
		}
		time.Sleep(staleFor)
		start = time.Now()
		if _, err := c.get(t.Context()); err == nil || time.Since(start) != outbound.Timeout {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestCachedPanic(t *testing.T) {
	t.Parallel()
	c := cached[int]{fetch: func(context.Context) (int, error) { panic("hostile document") }}
	if _, err := c.get(t.Context()); !errors.Is(err, errPanicked) {
		t.Errorf("%v", err)
	}
}
