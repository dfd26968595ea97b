package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"authsvc/adapter"
)

// Times and limits of the clock.
const (
	clockInterval  = 30 * time.Second
	clockTries     = 3                      // the quickest answer counts
	clockTolerance = 250 * time.Millisecond // a smaller difference is not corrected
	clockWarn      = 2 * time.Second
	clockMaxOffset = 30 * time.Second // a larger difference makes the service unready
	clockTimeout   = 2 * time.Second  // longest wait for the store
)

// A storeClock holds the difference between the clock of the store, which all replicas
// use, and the clock of this process.
type storeClock struct {
	offset   atomic.Int64 // store minus process, in nanoseconds, as applied
	measured atomic.Int64 // as last measured
	warned   atomic.Bool
}

// Now returns the time of the store's clock. Stored times, and times compared with
// them, are of this clock. Waits within the process use the process's own clock.
func (fl *Fleet) Now() time.Time {
	now := time.Now()
	if ahead := fl.clock.offset.Load(); ahead != 0 {
		return now.Add(time.Duration(ahead)).Round(0)
	}
	return now
}

// ToStoreTime converts a time of this process's clock to the store's clock, both in
// seconds since 1970; 0 stays 0. Package oidc computes the expiry of tokens by this
// process's clock.
func (fl *Fleet) ToStoreTime(at int64) int64 {
	if at == 0 {
		return 0
	}
	return time.Unix(at, 0).Add(time.Duration(fl.clock.offset.Load())).Unix()
}

// MeasureClock measures the offset and applies it. It asks the store clockTries times
// and uses the quickest answer, since a slow answer is imprecise.
func (fl *Fleet) MeasureClock(ctx context.Context) error {
	store, has := fl.Adapter.(adapter.Clock)
	if !has {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	var ahead, best time.Duration = 0, math.MaxInt64
	var errs []error
	for range clockTries {
		asked := time.Now()
		at, err := store.Now(ctx)
		took := time.Since(asked)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if took < best {
			best, ahead = took, at.Sub(asked.Add(took/2).Round(0))
		}
	}
	if len(errs) == clockTries {
		return errors.Join(errs...)
	}
	fl.applyClock(ahead)
	return nil
}

func (fl *Fleet) applyClock(ahead time.Duration) {
	fl.clock.measured.Store(int64(ahead))
	if applied := time.Duration(fl.clock.offset.Load()); (ahead - applied).Abs() > clockTolerance {
		fl.clock.offset.Store(int64(ahead))
	}
	if ahead.Abs() <= clockTolerance {
		fl.clock.offset.Store(0)
	}
	far := ahead.Abs() > clockWarn
	if was := fl.clock.warned.Swap(far); far && !was {
		fl.Log.Warn("the clock of this machine differs from that of the store, which applies. Synchronise them (NTP)",
			"store_ahead", ahead.Round(time.Millisecond).String())
	}
}

// ClockReady returns an error if the clocks differ by more than clockMaxOffset: an
// operator must act.
func (fl *Fleet) ClockReady() error {
	ahead := time.Duration(fl.clock.measured.Load())
	if ahead.Abs().Round(time.Second) > clockMaxOffset {
		return fmt.Errorf("the clock of this machine differs from that of the store by %s: synchronise them (NTP)", ahead.Round(time.Second).Abs())
	}
	return nil
}

// PollClock measures the offset every clockInterval until ctx ends.
func (fl *Fleet) PollClock(ctx context.Context) {
	for Sleep(ctx, clockInterval) {
		if err := fl.MeasureClock(ctx); err != nil && ctx.Err() == nil {
			fl.Log.Warn("cannot read the clock of the store", "err", err)
		}
	}
}
