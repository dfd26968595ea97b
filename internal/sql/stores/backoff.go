package stores

import (
	"context"
	"math/rand/v2"
	"time"
)

// Jitter returns a random time from half of d up to d, so that callers that collided do
// not collide again. d must be at least 2 ns.
func Jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2) }

// Wait returns nil after d, or the error of ctx if ctx ends first.
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
