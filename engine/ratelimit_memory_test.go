package engine

import (
	"fmt"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/test/quiet"
)

// A limiter that strangers fill keeps the last 100 000 and no more.
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
		if _, ok := l.allow(key(i), now); !ok {
			t.Fatalf("key %d was refused", i)
		}
	}
	grown := heap() - before
	t.Logf("%d keys, %d KiB", l.used.Len(), grown>>10)
	if l.used.Len() != maxLimiterKeys || len(l.keys) != maxLimiterKeys || quiet.Full && grown > 40<<20 {
		t.Errorf("%d and %d keys, %d bytes", l.used.Len(), len(l.keys), grown)
	}
	if _, ok := l.allow(key(strangers-1), now); ok {
		t.Error("a key that is kept was not counted")
	}
	if _, ok := l.allow(key(0), now); !ok {
		t.Error("a key that went is still counted")
	}
	runtime.KeepAlive(l)
}

// The number of windows is bounded, and so is what each holds.
func TestRepeatedRefusalsMemory(t *testing.T) {
	t.Parallel()
	r, now := newRepeats(false), time.Now()
	header := strings.Repeat("x", 32<<10)
	counts := 0
	for i := range 3 * maxRepeats {
		e := authsvc.AuditEvent{Name: "csrf.refused", UserAgent: header[:maxAgent]}
		for range 2 {
			record, summaries := r.add(fmt.Sprint(i), e, now)
			counts += len(summaries)
			if record && r.order.Len() == 0 {
				t.Fatal("recorded, and no window is open")
			}
		}
	}
	if r.order.Len() != maxRepeats || len(r.all) != maxRepeats {
		t.Errorf("%d and %d windows", r.order.Len(), len(r.all))
	}
	summaries, more := r.flush(now.Add(repeatWindow), false)
	if counts += len(summaries); counts != 3*maxRepeats || more || len(r.all) != 0 {
		t.Errorf("%d of %d summaries, %d windows are left", counts, 3*maxRepeats, len(r.all))
	}
}

func TestLoginQueue(t *testing.T) {
	t.Parallel()
	w := &loginQueue{}
	left := func(a *queuedLogin) bool {
		select {
		case <-a.left:
			return true
		default:
			return false
		}
	}
	var all []*queuedLogin
	enter := func(account, client string) *queuedLogin {
		a := w.enter(account, client)
		if a != nil {
			all = append(all, a)
		}
		return a
	}
	for i := range 10 * maxQueuedOfOne {
		if a := enter("ada", fmt.Sprint(i)); a == nil || left(a) {
			t.Fatal("a newcomer was not let in")
		}
	}
	if last := all[len(all)-1]; enter("ada", last.client) != nil || enter("bob", last.client) == nil {
		t.Error("one client waits once for each account")
	}
	for i := range 10 * maxQueuedLogins {
		if enter(fmt.Sprint("account", i/maxQueuedOfOne), fmt.Sprint(i)) == nil {
			t.Fatal("a newcomer was not let in")
		}
	}
	waiting := 0
	for _, a := range all {
		if !left(a) {
			waiting++
		}
		w.leave(a)
		w.leave(a) // by those who were sent away, too
	}
	if waiting != maxQueuedLogins || len(w.waiting) != 0 {
		t.Errorf("%d waited, %d are left", waiting, len(w.waiting))
	}
}

func TestClientKey(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"192.0.2.1:1":                    "192.0.2.1",
		"192.0.2.2:1":                    "192.0.2.2",
		"[::ffff:192.0.2.1]:9":           "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:1":       "2001:db8:1:2::/64",
		"[2001:DB8:1:2::7]:1":            "2001:db8:1:2::/64",
		"[2001:db8:1:3::7]:1":            "2001:db8:1:3::/64",
		"[fe80::1%eth0]:1":               "fe80::/64",
		"[2001:0db8:0001:0002::0001]:80": "2001:db8:1:2::/64",
	} {
		rq := &request{site: &site{}, r: httptest.NewRequest("GET", "/", nil)}
		rq.r.RemoteAddr = remote
		if got := rq.clientKey(); got != want {
			t.Errorf("%s counts as %s, want %s", remote, got, want)
		}
	}
}
