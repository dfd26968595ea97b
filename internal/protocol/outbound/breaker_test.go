package outbound

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// hanging answers when the caller's context ends.
func hanging(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// TestBreaker checks that calls without an answer open the breaker, and that a probe
// with one closes it.
func TestBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, hang := 0, true
		client := inMemory(t, func(r *http.Request) (*http.Response, error) {
			if calls++; hang {
				return hanging(r)
			}
			return response(200, `{}`), nil
		})
		for range BreakAfter {
			if err := fetch(t.Context(), client); !errors.Is(err, ErrUnavailable) || errors.Is(err, ErrOpen) {
				t.Errorf("%v", err)
			}
		}
		if err := fetch(t.Context(), client); !errors.Is(err, ErrOpen) || !errors.Is(err, ErrUnavailable) || calls != BreakAfter {
			t.Errorf("open: %v, %d calls", err, calls)
		}
		hang = false
		time.Sleep(ProbeEvery)
		for range 2 * BreakAfter {
			if err := fetch(t.Context(), client); err != nil {
				t.Errorf("closed: %v", err)
			}
		}
	})
}

// TestBreakerOneProbe checks that only one of several concurrent calls is the probe.
func TestBreakerOneProbe(t *testing.T) {
	t.Parallel()
	var b Breaker
	now := time.Now()
	for range BreakAfter {
		b.record(errNoConnection, now)
	}
	admitted := 0
	for range 100 {
		if b.allow(now.Add(ProbeEvery)) {
			admitted++
		}
	}
	if admitted != 1 {
		t.Errorf("%d probes", admitted)
	}
}

// TestBreakerIsNotForBrowsers checks that faults that a browser can cause do not shut
// off the provider for others.
func TestBreakerIsNotForBrowsers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer roundTrip
		leave  bool
	}{
		"500 to a strange code": {func(*http.Request) (*http.Response, error) { return response(500, ""), nil }, false},
		"429":                   {func(*http.Request) (*http.Response, error) { return response(429, ""), nil }, false},
		"refusal":               {func(*http.Request) (*http.Response, error) { return response(400, ""), nil }, false},
		"leaving":               {hanging, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var fault atomic.Bool
				fault.Store(true)
				client := inMemory(t, func(r *http.Request) (*http.Response, error) {
					if fault.Load() {
						return c.answer(r)
					}
					return response(200, `{}`), nil
				})
				for range 3 * BreakAfter {
					ctx, cancel := context.WithCancel(t.Context())
					if c.leave {
						time.AfterFunc(time.Millisecond, cancel)
					}
					if err := fetch(ctx, client); err == nil || errors.Is(err, ErrOpen) {
						t.Errorf("%v", err)
					}
					cancel()
				}
				fault.Store(false)
				if err := fetch(t.Context(), client); err != nil {
					t.Errorf("another caller: %v", err)
				}
			})
		})
	}
}

// TestBurst checks that a thousand concurrent calls to a working provider all succeed.
func TestBurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := inMemory(t, func(*http.Request) (*http.Response, error) {
			time.Sleep(100 * time.Millisecond)
			return response(200, `{}`), nil
		})
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				if err := fetch(t.Context(), client); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}
