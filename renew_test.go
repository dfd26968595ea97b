package authsvc_test

import (
	"context"
	"net/http"
	"runtime"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
)

// TestRenew: what was counted is counted on, under the new rate, and each
// service ends by itself.
func TestRenew(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]authsvc.Adapter{"a store": memory.New(), "none": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := replica(t, store, func(c *authsvc.Config) {
				c.RateLimit = authsvc.RateLimit{SignIn: authsvc.Rate{N: 2, Per: time.Hour}}
			})
			refused := func() bool {
				return w.Browser().Post("/api/auth/callback/credentials", "username", "ada", "password", "wrong").StatusCode == http.StatusTooManyRequests
			}
			if first, second, third := refused(), refused(), refused(); first || second || !third {
				t.Fatal("the limit does not hold")
			}
			before := w.Service
			next, err := before.Renew(w.Config)
			if err != nil {
				t.Fatal(err)
			}
			w.Service = next
			if !refused() {
				t.Error("forgotten")
			}
			if err := before.Close(t.Context()); err != nil {
				t.Error(err)
			}
			bad := w.Config
			bad.Providers = nil
			if _, err := next.Renew(bad); len(authsvc.ConfigErrors(err)) != 1 {
				t.Errorf("without providers: %v", err)
			}
			if !refused() {
				t.Error("forgotten by a renewal that failed")
			}
			end(w, t)
		})
	}
}

// TestRenewLeavesNothing: no goroutine and little memory stays of 1000
// services. It is not parallel, since it counts what the process has.
func TestRenewLeavesNothing(t *testing.T) {
	w := replica(t, memory.New(), nil)
	renew := func(n int) (goroutines int, heap uint64) {
		for range n {
			next, err := w.Renew(w.Config)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Fatal(err)
			}
			w.Service = next
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	goroutines, heap := renew(100)
	for range 5 { // what other tests left may go meanwhile
		g, h := renew(1000)
		if g <= goroutines+2 && h <= heap+1<<20 {
			return
		}
		t.Logf("goroutines %d then %d, heap %d then %d", goroutines, g, heap, h)
		goroutines, heap = g, h
	}
	t.Error("services leave something behind")
}
