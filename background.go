package authsvc

import (
	"context"
	"errors"
	"time"
)

// work starts what runs beside requests.
func (s *Service) work(ctx context.Context) {
	if s.adapter == nil {
		return
	}
	for range mailWorkers {
		s.working.Go(func() { s.mails.run(ctx) })
	}
	s.working.Go(func() { s.sweep(ctx) })
	if s.revoked.poll {
		s.working.Go(func() { s.pollRevocations(ctx) })
	}
}

// Close ends the background work after what is in hand. It does not wait for
// requests: stop the http.Server first.
func (s *Service) Close(ctx context.Context) error {
	s.endErrands()
	done := make(chan struct{})
	go func() { s.working.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Times of the sweep.
const (
	sweepEvery = time.Minute
	sweepBatch = 500
	sweepPause = 50 * time.Millisecond
)

// sweepLease is what the replica that sweeps holds; of many, one does.
const sweepLease = "sweep"

// sweep deletes expired records in small batches.
func (s *Service) sweep(ctx context.Context) {
	replica := newID()
	defer s.endSweep(replica)
	wait := sweepEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = sweepEvery
		n, err := s.sweepBatch(ctx, replica)
		switch {
		case errors.Is(err, ErrConflict): // another replica does it
		case err != nil && ctx.Err() == nil:
			s.log.Error("expired records could not be removed", "err", err)
		case n == sweepBatch:
			wait = sweepPause
		}
	}
}

// sweepBatch holds the lease for longer than the pause to the next sweep, so
// that it changes hands only when the replica is gone.
func (s *Service) sweepBatch(ctx context.Context, replica string) (int, error) {
	now := time.Now()
	if err := s.adapter.Lease(ctx, sweepLease, replica, now, now.Add(2*sweepEvery)); err != nil {
		return 0, err
	}
	return s.adapter.Sweep(ctx, now, sweepBatch)
}

// endSweep lets another replica go on at once.
func (s *Service) endSweep(replica string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.adapter.Release(ctx, sweepLease, replica); err != nil {
		s.log.Debug("the lease of the sweep lapses by itself", "err", err)
	}
}
