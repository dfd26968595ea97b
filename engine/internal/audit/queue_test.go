package audit

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/seal"
)

// A sink is an AuditLog that can fail and be slow.
type sink struct {
	mu    sync.Mutex
	fail  bool
	wait  time.Duration
	calls int
	ids   map[string]bool
}

func (s *sink) PutAudit(ctx context.Context, list []authsvc.AuditRecord) error {
	if s.wait > 0 && !fleet.Sleep(ctx, s.wait) {
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls++; s.fail {
		return errors.New("connection refused")
	}
	for _, r := range list {
		s.ids[r.ID] = true
	}
	return nil
}

func (s *sink) ListAudit(context.Context, authsvc.AuditQuery) ([]authsvc.AuditRecord, error) {
	return nil, nil
}

func (s *sink) SweepAudit(context.Context, time.Time, int) (int, error) { return 0, nil }

func (s *sink) breaks(fail bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = fail
}

func (s *sink) has() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids)
}

func addRecords(t *queue, n int) {
	for range n {
		t.add(authsvc.AuditRecord{ID: seal.UUIDv7(), AuditEvent: authsvc.AuditEvent{Outcome: authsvc.AuditSuccess}})
	}
}

// While the store fails, no request waits, and events that fit into the queue are not
// lost. Other events are counted. Both facts are logged once.
func TestAuditQueueStoreFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := &sink{fail: true, ids: map[string]bool{}}
		tr := newQueue(s, slog.New(slog.NewTextHandler(&log, nil)), time.Hour)
		go tr.run()
		began := time.Now()
		addRecords(tr, storeBatch)
		time.Sleep(time.Second) // the batch was taken and has failed
		addRecords(tr, maxQueue+25)
		if took := time.Since(began); took != time.Second {
			t.Errorf("adding took %v", took-time.Second)
		}
		time.Sleep(10 * time.Minute)
		s.breaks(false)
		time.Sleep(10 * time.Minute)
		if got := s.has(); got != storeBatch+maxQueue {
			t.Errorf("%d records are stored", got)
		}
		for line, n := range map[string]int{"cannot store audit events; will retry": 1, "their number is logged when storing works again": 1, "events=25": 1} {
			if got := strings.Count(log.String(), line); got != n {
				t.Errorf("%q is said %d times:\n%s", line, got, log.String())
			}
		}
		addRecords(tr, 3)
		tr.end()
		<-tr.done
		if got := s.has(); got != storeBatch+maxQueue+3 {
			t.Errorf("%d records are stored at the end", got)
		}
	})
}

// end stores the queued events. If the store fails then, this delays end only once.
func TestAuditQueueEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sink *sink
		want int
		took time.Duration
	}{
		"works": {&sink{ids: map[string]bool{}}, 1000, 0},
		"fails": {&sink{fail: true, ids: map[string]bool{}}, 0, 0},
		"hangs": {&sink{wait: time.Hour, ids: map[string]bool{}}, 0, 2 * storeTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				tr := newQueue(c.sink, slog.New(slog.NewTextHandler(&log, nil)), time.Hour)
				addRecords(tr, 1000)
				go tr.run()
				synctest.Wait()
				began := time.Now()
				tr.end()
				<-tr.done
				if took := time.Since(began); took > c.took {
					t.Errorf("it took %v", took)
				}
				if got := c.sink.has(); got != c.want {
					t.Errorf("%d records are stored", got)
				}
				if logged := strings.Contains(log.String(), "events=1000"); logged != (c.want == 0) {
					t.Errorf("log:\n%s", log.String())
				}
			})
		})
	}
}
