package skewed

import (
	"context"
	"net/http"
	"runtime/pprof"
	"time"
)

// label of goroutines, which those that they start have too. What a timer runs has
// none, and the clock of the process.
const label = "skew"

// Works reports whether package skewed has built this program. In others the clock is
// right everywhere.
func Works() bool { return works }

var works = func() bool {
	before := time.Now()
	set(time.Hour)
	defer pprof.SetGoroutineLabels(context.Background()) // to none
	return between(time.Now(), before) == time.Hour
}()

// Set makes the clock of this goroutine off by whole seconds, and of those that it
// starts from now on.
func Set(by time.Duration) {
	if works {
		set(by)
	}
}

func set(by time.Duration) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(label, by.String())))
}

// Here is by how much the clock of this goroutine is off.
func Here() (by time.Duration) {
	if works {
		mine := time.Now()
		set(0)
		by = between(mine, time.Now())
		set(by)
	}
	return by
}

// between is how much the clocks of two times differ.
func between(a, b time.Time) time.Duration {
	passed := a.Sub(b) // by the monotonic clock
	return (a.Round(0).Sub(b.Round(0)) - passed).Round(time.Second)
}

// At runs f with a clock that is off.
func At(by time.Duration, f func()) {
	defer Set(Here())
	Set(by)
	f()
}

// Handler runs h with a clock that is off.
func Handler(by time.Duration, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		At(by, func() { h.ServeHTTP(w, r) })
	})
}
