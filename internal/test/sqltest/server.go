package sqltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"authsvc/internal/test/quiet"
	"authsvc/internal/test/servertest"
)

// traffic signs users up, in and out until ctx ends. It records acknowledged calls in
// l, and the time of the last sign-up in passed.
func traffic(ctx context.Context, s Store, l *ledger, passed *atomic.Int64) *sync.WaitGroup {
	var wg sync.WaitGroup
	for worker := range 64 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				id := fmt.Sprintf("%d-%d", worker, i)
				if SignUp(ctx, s, id) != nil {
					continue
				}
				l.note(l.in, id)
				passed.Store(time.Now().UnixNano())
				if _, _, err := s.GetSession(ctx, id, id); err != nil || i%2 == 1 {
					continue
				}
				if _, err := s.DeleteSession(ctx, id); err == nil {
					l.note(l.out, id)
				}
			}
		})
	}
	return &wg
}

// grow waits for more sign-ups and sign-outs.
func (l *ledger) grow(t *testing.T, more int) {
	t.Helper()
	in, out := l.size()
	await(t, time.Minute, func() bool {
		nowIn, nowOut := l.size()
		return nowIn >= in+more && nowOut > out
	})
}

func await(t *testing.T, most time.Duration, done func() bool) {
	t.Helper()
	for from := time.Now(); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Since(from) > most {
			t.Fatalf("too little traffic passes within %v", most)
		}
	}
}

// ServerKilled checks that a server loses no acknowledged write when it is killed and
// restarted, and that the store reconnects by itself within recovery.
func ServerKilled(t *testing.T, d *Database, server *servertest.Server, recovery time.Duration) {
	s := d.Opened(t, server.URL, true)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var passed atomic.Int64
	l := newLedger()
	wg := traffic(ctx, s, l, &passed)
	for range 2 {
		l.grow(t, 200)
		server.Kill()
		if err := s.Ping(ctx); err == nil || !d.Unreachable(err) {
			t.Errorf("ping of a dead server: %v", err)
		}
		server.Start()
		back := time.Now()
		await(t, quiet.Limit(recovery), func() bool { return passed.Load() > back.UnixNano() })
		l.grow(t, 200)
		t.Logf("200 sign-ups within %v of the restart", time.Since(back).Round(time.Millisecond))
	}
	cancel()
	wg.Wait()
	l.check(t, d, server.URL, s)
	t.Logf("%d sign-ups, %d sign-outs acknowledged", len(l.in), len(l.out))
}

// ServerFrozen checks that a server that hangs delays no call for longer than the
// adapter's 5 s.
func ServerFrozen(t *testing.T, d *Database, server *servertest.Server) {
	s := d.Opened(t, server.URL, true)
	if err := SignUp(t.Context(), s, "ann"); err != nil {
		t.Fatal(err)
	}
	server.Freeze()
	var wg sync.WaitGroup
	for i := range 64 { // more than the pool has connections
		wg.Go(func() {
			begun := time.Now()
			call := func() error { _, _, err := s.GetSession(t.Context(), "ann", "ann"); return err }
			if i%2 == 0 {
				call = func() error { return SignUp(t.Context(), s, fmt.Sprint(i)) }
			}
			err := call()
			if took := time.Since(begun); took > quiet.Limit(8*time.Second) || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("after %v: %v", took, err)
			}
		})
	}
	wg.Wait()
	server.Thaw()
	thawed := time.Now()
	for {
		if _, _, err := s.GetSession(t.Context(), "ann", "ann"); err == nil {
			break
		} else if time.Since(thawed) > quiet.Limit(10*time.Second) {
			t.Fatalf("does not continue: %v", err)
		}
	}
	if err := SignUp(t.Context(), s, "bob"); err != nil {
		t.Error(err)
	}
}

// Refused checks that opening a URL fails. The error must give the reason in one
// line, without the password "secret".
func Refused(t *testing.T, d *Database, url, want string, unreachable bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := d.Open(ctx, url, true)
	if err == nil {
		s.Close()
		t.Errorf("%s: opened", url)
		return
	}
	said := err.Error()
	if !strings.HasPrefix(said, d.Scheme+": ") || !strings.Contains(said, want) || strings.Contains(said, "secret") || strings.Contains(said, "\n") {
		t.Errorf("%s: got %s, want %s", url, said, want)
	}
	if d.Unreachable(err) != unreachable {
		t.Errorf("%s: %s: unreachable is %v", url, said, !unreachable)
	}
}

// BenchmarkGetSession reads one of 1000 sessions.
func BenchmarkGetSession(b *testing.B, d *Database) {
	s := d.Opened(b, d.Empty(b), true)
	for i := range 1000 {
		if err := SignUp(b.Context(), s, fmt.Sprint(i)); err != nil {
			b.Fatal(err)
		}
	}
	var n atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			id := fmt.Sprint(n.Add(617) % 1000) // skips neighbouring rows
			if _, _, err := s.GetSession(b.Context(), id, id); err != nil {
				b.Error(err)
			}
		}
	})
}
