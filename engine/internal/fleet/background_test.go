package fleet

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc/adapter"
)

// TestWorkerPanics: a worker whose store panics starts again, and returns when life
// ends.
func TestWorkerPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		fl := New(&Common{Log: slog.New(slog.NewTextHandler(&log, nil))})
		fl.Open()
		began := time.Now()
		var runs atomic.Int32
		var ended atomic.Bool
		fl.Go("the sweep", func(life context.Context) {
			if runs.Add(1) < 3 {
				panic("a store")
			}
			<-life.Done()
			ended.Store(true)
		})
		synctest.Wait()
		if n := runs.Load(); n != 1 {
			t.Errorf("%d runs at once", n)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if runs.Load() != 3 || ended.Load() || strings.Count(log.String(), "in=\"the sweep\"") != 2 {
			t.Errorf("%d runs, ended: %t\n%s", runs.Load(), ended.Load(), log.String())
		}
		fl.StopTasks()
		fl.Wait()
		if !ended.Load() || time.Since(began) != time.Minute {
			t.Errorf("ended: %t after %v", ended.Load(), time.Since(began))
		}
	})
}

// TestPanickingWorkerEnds: the end of life also ends a worker that waits to start
// again.
func TestPanickingWorkerEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fl := New(&Common{Log: slog.New(slog.DiscardHandler)})
		fl.Open()
		runs := 0
		fl.Go("the sweep", func(context.Context) { runs++; panic("a store") })
		time.Sleep(workerPause / 2)
		synctest.Wait()
		began := time.Now()
		fl.StopTasks()
		fl.Wait()
		if runs != 1 || time.Since(began) != 0 {
			t.Errorf("%d runs, %v to the end", runs, time.Since(began))
		}
	})
}

// leaseStore panics at every lease except the first.
type leaseStore struct {
	adapter.Adapter
	leases, releases int
}

func (s *leaseStore) Lease(context.Context, string, string, time.Time, time.Time) error {
	if s.leases++; s.leases > 1 {
		panic("a store")
	}
	return nil
}

func (s *leaseStore) Release(context.Context, string, string) error {
	s.releases++
	return errors.New("it lapses")
}

// TestLeasePanics: a store that panics at the renewal of a lease does not end the
// process.
func TestLeasePanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &leaseStore{}
		fl := New(&Common{Log: slog.New(slog.DiscardHandler), Adapter: store})
		release, err := fl.Lease(t.Context(), "name")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		release()
		if store.leases < 5 || store.releases != 1 {
			t.Errorf("%d leases, %d releases", store.leases, store.releases)
		}
	})
}
