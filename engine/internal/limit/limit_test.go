package limit

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/test/quiet"
)

// A limiter that untrusted clients fill keeps only the last 100 000 keys.
func TestLimiterMemory(t *testing.T) {
	l, now := newLimiter("test", authsvc.Rate{N: 1, Per: time.Hour}, false), time.Now()
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	key := func(i int) string { return fmt.Sprintf("198.51.100.%d", i) }
	before := heap()
	strangers := 250_000
	if os.Getenv("AUTHSVC_E2E") != "" { // 20 s with the race detector
		strangers = 1_000_000
	}
	for i := range strangers {
		if _, ok := l.Allow(key(i), now); !ok {
			t.Fatalf("key %d was refused", i)
		}
	}
	grown := heap() - before
	t.Logf("%d keys, %d KiB", l.used.Len(), grown>>10)
	if l.used.Len() != maxLimiterKeys || len(l.keys) != maxLimiterKeys || quiet.Full && grown > 40<<20 {
		t.Errorf("%d and %d keys, %d bytes", l.used.Len(), len(l.keys), grown)
	}
	if _, ok := l.Allow(key(strangers-1), now); ok {
		t.Error("a key that is kept was not counted")
	}
	if _, ok := l.Allow(key(0), now); !ok {
		t.Error("a key that went is still counted")
	}
	runtime.KeepAlive(l)
}

func TestLoginQueue(t *testing.T) {
	t.Parallel()
	w := &Queue{}
	left := func(a *Place) bool {
		select {
		case <-a.Left:
			return true
		default:
			return false
		}
	}
	var all []*Place
	enter := func(account, client string) *Place {
		a := w.Enter(account, client)
		if a != nil {
			all = append(all, a)
		}
		return a
	}
	for i := range 10 * maxQueuedOfOne {
		if a := enter("ada", fmt.Sprint(i)); a == nil || left(a) {
			t.Fatal("a newcomer was not admitted")
		}
	}
	if last := all[len(all)-1]; enter("ada", last.client) != nil || enter("bob", last.client) == nil {
		t.Error("one client waits once for each account")
	}
	for i := range 10 * maxQueuedLogins {
		if enter(fmt.Sprint("account", i/maxQueuedOfOne), fmt.Sprint(i)) == nil {
			t.Fatal("a newcomer was not admitted")
		}
	}
	waiting := 0
	for _, a := range all {
		if !left(a) {
			waiting++
		}
		w.Leave(a)
		w.Leave(a) // also if they were removed
	}
	if waiting != maxQueuedLogins || len(w.waiting) != 0 {
		t.Errorf("%d waited, %d are left", waiting, len(w.waiting))
	}
}
