package scale

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/engine"
)

// Limits for a service that starts with three million records in the log of
// revocations, and for each later poll that finds nothing new. A shared machine gets
// slack times as much.
const (
	readyMost = 10 * time.Second
	heapMost  = 200 // MB
	pollMost  = time.Millisecond
	slack     = 3
)

// TestRevocationScale starts a service with strategy jwt on a log of three records
// per user. With fewer than a million users, it checks no limits.
func TestRevocationScale(t *testing.T) {
	users := size(t)
	records := 3 * max(users, 5000)
	each(t, func(t *testing.T, fresh func(testing.TB) string) {
		storage := fresh(t)
		store, err := Open(t.Context(), storage)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		fillLog(t, explain(t, storage, store), records)

		before := heap()
		s, ready := start(t, store)
		grown := float64(heap()-before) / 1e6
		runtime.KeepAlive(s)
		polls := polls(t, store, int64(records))
		t.Logf("%d revocations: ready after %v, %.0f MB more in the heap; a poll with nothing new: %v", records, ready.Round(time.Millisecond), grown, polls)
		if users >= 1_000_000 && (ready > slack*readyMost || grown > slack*heapMost || polls.at(0.5) > slack*pollMost) {
			t.Errorf("over %d times %v, %d MB or %v", slack, readyMost, heapMost, pollMost)
		}
	})
}

// fillLog writes revocations: nine in ten for one session, the others for all
// sessions of a user.
func fillLog(t *testing.T, e explainer, n int) {
	t.Helper()
	const fill = `WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < %[1]d),
		r(n, kind, id) AS (SELECT n, CASE WHEN n %% 10 = 0 THEN 'user:' ELSE 'sid:' END, '012345678901234567890123456789012' || CAST(1000000000 + n AS TEXT) FROM i)
		INSERT INTO authsvc_revocation (id, user_id, seq, not_before, expires)
		SELECT kind || id, CASE kind WHEN 'user:' THEN id END, n, %[2]d, %[3]d FROM r`
	now := time.Now()
	for _, text := range []string{
		fmt.Sprintf(fill, n, now.UnixMilli(), now.Add(720*time.Hour).UnixMilli()),
		fmt.Sprintf(`UPDATE authsvc_sequence SET value = %d WHERE id = 'revocation'`, n),
	} {
		if err := e.run(t.Context(), text); err != nil {
			t.Fatal(err)
		}
	}
}

// start returns a service and the time until it was ready.
func start(t *testing.T, store adapter.Adapter) (*engine.Service, time.Duration) {
	t.Helper()
	c := config(t, store)
	c.Session.Strategy = "jwt"
	c.Logger = slog.New(slog.DiscardHandler) // it is not ready at first
	began := time.Now()
	s, err := engine.New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(t.Context()) })
	for s.Ready(t.Context()) != nil {
		if time.Since(began) > 5*time.Minute {
			t.Fatalf("not ready: %v", s.Ready(t.Context()))
		}
		time.Sleep(10 * time.Millisecond)
	}
	return s, time.Since(began)
}

// polls reads the log from its end.
func polls(t *testing.T, store adapter.Adapter, end int64) (list times) {
	t.Helper()
	if last, _, err := store.Revocations(t.Context(), end-1, 2); err != nil || len(last) != 1 || last[0].Seq != end {
		t.Fatalf("the end of the log: %v, %v", last, err)
	}
	for range 101 {
		began := time.Now()
		if got, _, err := store.Revocations(t.Context(), end, 5000); err != nil || len(got) != 0 {
			t.Fatalf("after the end of the log: %v, %v", got, err)
		}
		list = append(list, time.Since(began))
	}
	return list
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
