package main

import (
	"context"
	"log/slog"
	"time"

	"authsvc/cmd/authsvc/internal/config"
)

// Pauses between attempts to reach the store, and between the lines that say
// so.
const (
	minRetryDelay    = 250 * time.Millisecond
	maxRetryDelay    = 5 * time.Second
	retryLogInterval = 30 * time.Second
)

// openStoreWithRetry opens the store. One that cannot be reached yet is tried again
// until ctx ends, after a call of late; one that will not work as configured is
// an error at once.
func openStoreWithRetry(ctx context.Context, s *config.Settings, log *slog.Logger, late func()) (*store, error) {
	var said time.Time
	for pause := minRetryDelay; ; pause = min(2*pause, maxRetryDelay) {
		st, err := openStore(ctx, s, s.Storage.Migrate)
		if err == nil || !isRetryable(err) {
			return st, err
		}
		late()
		if time.Since(said) > retryLogInterval {
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
