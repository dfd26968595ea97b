// Package backoff waits between the attempts of a call.
package backoff

import (
	"context"
	"time"
)

// Wait returns nil after d, or the error of ctx if that ends first.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
