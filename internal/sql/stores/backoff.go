package stores

import (
	"context"
	"math/rand/v2"
	"time"
)

// Jitter returns a time from half of d up to d, which is at least 2 ns, by chance:
// those who came at once would else ask again at once, and one of them get it.
func Jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2) }

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
