package scale

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"authsvc/internal/test/servertest"
)

// The engine sweeps in batches of this many records, with a pause in between.
const (
	sweepBatch = 500
	sweepPause = 50 * time.Millisecond
)

// Readers request sessions at a steady total rate of 500/s.
const (
	readers   = 4
	readEvery = 8 * time.Millisecond
)

// TestSweepScale removes expired records while sessions are read. No read may fail,
// and the slowest reads must not be much slower than without the sweep, which a few
// users do not show. Half of the records are removed with the engine's pauses, the
// other half as fast as possible.
func TestSweepScale(t *testing.T) {
	users := size(t)
	ended, alone := users/5, 5*time.Second
	if users == 0 {
		users, ended, alone = 1000, 2000, 300*time.Millisecond
	}
	each(t, func(t *testing.T, fresh func(testing.TB) string) {
		s := serve(t, fresh(t), Population{Seed: 3, Users: min(users, 100_000), Accounts: 1, Sessions: 2, Ended: ended, Now: time.Now()})
		s.gets(t, 2000, s.get)
		quiet := s.during(t, func() { time.Sleep(alone) })
		t.Logf("nothing is swept: %v", quiet)
		total := ended + 3*(ended/4)
		swept := s.sweeping(t, "as the engine does", total/2, sweepPause, quiet)
		swept += s.sweeping(t, "without a pause", total, 0, quiet)
		if swept != total {
			t.Errorf("swept %d of %d records", swept, total)
		}
	})
}

// sweeping sweeps up to most records while sessions are read.
func (s *service) sweeping(t *testing.T, how string, most int, pause time.Duration, quiet times) (swept int) {
	t.Helper()
	var took time.Duration
	reads := s.during(t, func() {
		start := time.Now()
		swept = s.sweep(t, most, pause)
		took = time.Since(start)
	})
	t.Logf("swept %s: %d records, %.0f/s; reads meanwhile: %v", how, swept, float64(swept)/took.Seconds(), reads)
	judged := servertest.Full || size(t) > 0
	if bound := 10*quiet.at(0.99) + 50*time.Millisecond; judged && reads.at(0.99) > bound {
		t.Errorf("p99 of reads is %v while records are swept, over %v", reads.at(0.99), bound)
	}
	return swept
}

// sweep sweeps as the engine does, until nothing is left or about most records are
// gone. It holds the engine's lease, because the engine would also sweep after a
// minute.
func (s *service) sweep(t *testing.T, most int, pause time.Duration) (swept int) {
	for swept < most {
		now := time.Now()
		if err := s.store.Lease(t.Context(), "sweep", "test", now, now.Add(time.Minute)); err != nil {
			t.Error(err)
			return swept
		}
		n, err := s.store.Sweep(t.Context(), now, sweepBatch)
		swept += n
		if err != nil {
			t.Error(err)
			return swept
		}
		if n == 0 {
			break
		}
		time.Sleep(pause)
	}
	return swept
}

// during reads sessions while f runs.
func (s *service) during(t *testing.T, f func()) (reads times) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var working sync.WaitGroup
	lists := make([]times, readers)
	for i := range lists {
		random := rand.New(rand.NewPCG(uint64(i), s.random.Uint64()))
		working.Go(func() {
			var err error
			if lists[i], err = s.read(ctx, random); err != nil {
				t.Error(err)
			}
		})
	}
	f()
	stop()
	working.Wait()
	for _, list := range lists {
		reads = append(reads, list...)
	}
	return reads
}

// read reads sessions at a steady rate until the context ends. Every read must
// succeed.
func (s *service) read(ctx context.Context, random *rand.Rand) (list times, err error) {
	clock := time.NewTicker(readEvery)
	defer clock.Stop()
	for {
		took, err := s.get(random)
		if err != nil {
			return list, fmt.Errorf("read %d: %w", len(list), err)
		}
		list = append(list, took)
		select {
		case <-ctx.Done():
			return list, nil
		case <-clock.C:
		}
	}
}
