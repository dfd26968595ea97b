package authsvc

import (
	"context"
	"time"
)

// work starts what runs beside requests.
func (s *Service) work(ctx context.Context) {
	if s.adapter == nil {
		return
	}
	s.working.Go(func() { s.mails.run(ctx) })
	s.working.Go(func() { s.sweep(ctx) })
	if s.revoked.poll {
		s.working.Go(func() { s.pollRevocations(ctx) })
	}
}

// Close ends the background work after what is in hand. It does not wait for
// requests: stop the http.Server first.
func (s *Service) Close(ctx context.Context) error {
	s.stop()
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

// sweep deletes expired records in small batches.
func (s *Service) sweep(ctx context.Context) {
	wait := sweepEvery
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		n, err := s.adapter.Sweep(ctx, time.Now(), sweepBatch)
		wait = sweepEvery
		switch {
		case err != nil && ctx.Err() == nil:
			s.log.Error("expired records could not be removed", "err", err)
		case n == sweepBatch:
			wait = sweepPause
		}
	}
}
