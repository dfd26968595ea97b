package skewed

import (
	"context"
	"net/http"
	"runtime/pprof"
	"time"
)

// label marks goroutines; goroutines started from them inherit it. Functions run by a
// timer have no label and use the clock of the process.
const label = "skew"

// Works reports whether package skewed built this program. In other programs, the
// clock is right everywhere.
func Works() bool { return works }

var works = func() bool {
	before := time.Now()
	set(time.Hour)
	defer pprof.SetGoroutineLabels(context.Background()) // removes the labels
	return between(time.Now(), before) == time.Hour
}()

// Set shifts the clock of this goroutine by whole seconds, and the clocks of
// goroutines that it starts later.
func Set(by time.Duration) {
	if works {
		set(by)
	}
}

func set(by time.Duration) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels(label, by.String())))
}

// Here returns how far the clock of this goroutine is off.
func Here() (by time.Duration) {
	if works {
		mine := time.Now()
		set(0)
		by = between(mine, time.Now())
		set(by)
	}
	return by
}

// between returns the difference between the clocks of two times.
func between(a, b time.Time) time.Duration {
	passed := a.Sub(b) // on the monotonic clock
	return (a.Round(0).Sub(b.Round(0)) - passed).Round(time.Second)
}

// At runs f with a shifted clock.
func At(by time.Duration, f func()) {
	defer Set(Here())
	Set(by)
	f()
}

// Handler runs h with a shifted clock.
func Handler(by time.Duration, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		At(by, func() { h.ServeHTTP(w, r) })
	})
}
