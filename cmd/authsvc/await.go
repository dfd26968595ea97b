package main

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"authsvc/cmd/authsvc/internal/config"
)

// A stage answers requests before the store can be reached: alive, not ready.
// Then the front takes over.
type stage struct{ front atomic.Pointer[front] }

// ServeHTTP implements [http.Handler].
func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f := s.front.Load(); f != nil {
		f.ServeHTTP(w, r)
		return
	}
	switch r.URL.Path {
	case "/healthz":
		health(w, r, true)
	case "/readyz":
		health(w, r, false)
	default:
		w.Header().Set("Retry-After", "5")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "starting: the store is not open yet\n")
	}
}

// Pauses between attempts to reach the store, and between the lines that say
// so.
const (
	firstPause = 250 * time.Millisecond
	lastPause  = 5 * time.Second
	sayEvery   = 30 * time.Second
)

// awaitStore opens the store. One that cannot be reached yet is tried again
// until ctx ends; one that will not work as configured is an error at once.
func awaitStore(ctx context.Context, s *config.Settings, log *slog.Logger) (*store, error) {
	var said time.Time
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		st, err := openStore(ctx, s, s.Storage.Migrate)
		if err == nil || !passes(err) {
			return st, err
		}
		if time.Since(said) > sayEvery {
			said = time.Now()
			log.Error("the store cannot be reached; trying again until it can, and not ready until then", "storage", describeStorage(s), "err", oneLine(err))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}
