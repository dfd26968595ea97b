package engine_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/test/quiet"
)

// TestReconfigure: counts continue under the new rate, and each service ends by itself.
func TestReconfigure(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]adapter.Adapter{"a store": memory.New(), "none": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := replica(t, store, func(c *authsvc.Config) {
				c.RateLimit = authsvc.RateLimit{SignIn: authsvc.Rate{N: 2, Per: time.Hour}}
			})
			refused := func() bool {
				return w.Browser().Post("/api/auth/callback/credentials", "username", "ada", "password", "wrong").StatusCode == http.StatusTooManyRequests
			}
			if first, second, third := refused(), refused(), refused(); first || second || !third {
				t.Fatal("the limit does not hold")
			}
			before := w.Service
			next, err := before.Reconfigure(w.Config)
			if err != nil {
				t.Fatal(err)
			}
			w.Service = next
			if !refused() {
				t.Error("forgotten")
			}
			if err := before.Close(t.Context()); err != nil {
				t.Error(err)
			}
			bad := w.Config
			bad.Providers = nil
			if _, err := next.Reconfigure(bad); len(authsvc.ConfigErrors(err)) != 1 {
				t.Errorf("without providers: %v", err)
			}
			if !refused() {
				t.Error("forgotten by a renewal that failed")
			}
			end(w, t)
		})
	}
}

// lockedStore keeps no mode while it is locked.
type lockedStore struct {
	adapter.Adapter
	locked bool
}

func (s *lockedStore) PutMeta(ctx context.Context, key, value string) (string, error) {
	if s.locked {
		return "", errors.New("the store is locked")
	}
	return s.Adapter.PutMeta(ctx, key, value)
}

// TestReconfigureFails: a configuration that cannot be taken over leaves nothing in the
// service before it.
func TestReconfigureFails(t *testing.T) {
	t.Parallel()
	store := &lockedStore{Adapter: memory.New()}
	w := replica(t, store, nil)
	next := w.Config
	next.Gate.Hosts = []authsvc.GateHost{{Origin: "https://wiki.app.test", Default: authsvc.Allow{Anyone: true}}}
	store.locked = true
	if _, err := w.Service.Reconfigure(next); err == nil {
		t.Fatal("a store that cannot be opened is taken over")
	}
	if st := w.Service.Stats(); len(st.Gate) != 0 {
		t.Errorf("the service before counts for %v", st.Gate)
	}
	store.locked = false
	s, err := w.Service.Reconfigure(next)
	if err != nil {
		t.Fatal(err)
	}
	if st := s.Stats(); len(st.Gate) != 1 {
		t.Errorf("twin: it counts for %v", st.Gate)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	end(w, t)
}

// TestReconfigureStrategy: sessions of one strategy are not sessions of the other.
func TestReconfigureStrategy(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"database", "jwt"} {
		w := replica(t, memory.New(), func(c *authsvc.Config) { c.Session.Strategy = authsvc.Strategy(from) })
		c := w.Config
		c.Session.Strategy = authsvc.Strategy(map[string]string{"database": "jwt", "jwt": "database"}[from])
		next, err := w.Reconfigure(c)
		list := authsvc.ConfigErrors(err)
		if len(list) != 1 || list[0].Field != "Session.Strategy" || !strings.Contains(err.Error(), "restart") {
			t.Errorf("from %s: %v", from, err)
		}
		if next != nil {
			next.Close(t.Context())
		}
		b := w.Browser()
		if a := b.Get("/api/auth/session"); a.StatusCode != http.StatusOK {
			t.Errorf("the earlier service stopped answering: %d", a.StatusCode)
		}
		c.Session.Strategy = authsvc.Strategy(from)
		if next, err = w.Reconfigure(c); err != nil {
			t.Errorf("twin: %v", err)
		} else {
			next.Close(t.Context())
		}
		end(w, t)
	}
}

// TestReconfigureKeepsQueues: late attempts at an account share one queue before and
// after, and so do mails.
func TestReconfigureKeepsQueues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c authsvc.Config
		s, at := guests(t, func(g *authsvc.Config) { c = *g })
		useUp(t, at, "ada")
		done := make(chan *reply, 1)
		go func() { done <- at("203.0.113.9:1").login("ada", "right") }()
		synctest.Wait()
		next, err := s.Reconfigure(c)
		if err != nil {
			t.Fatal(err)
		}
		defer next.Close(t.Context())
		again := at("203.0.113.9:1")
		again.h = next
		if r := again.login("ada", "right"); r.StatusCode != http.StatusTooManyRequests && r.Header.Get("Retry-After") == "" || r.took > 0 {
			t.Errorf("one client waits twice: %d after %v", r.StatusCode, r.took)
		}
		if r := <-done; !r.in() {
			t.Errorf("twin: %d %s", r.StatusCode, r.Header.Get("Location"))
		}
	})
}

// TestReconfigureLeaks: 1000 services leave no goroutine and little memory. The test is
// not parallel, since it counts the resources of the process.
func TestReconfigureLeaks(t *testing.T) {
	w := replica(t, memory.New(), nil)
	renew := func(n int) (goroutines int, heap uint64) {
		for range n {
			next, err := w.Reconfigure(w.Config)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Fatal(err)
			}
			w.Service = next
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return runtime.NumGoroutine(), m.HeapAlloc
	}
	goroutines, heap := renew(50)
	for range 5 { // remains of other tests may go away meanwhile
		g, h := renew(200)
		if g <= goroutines+2 && (!quiet.Full || h <= heap+1<<20) {
			return
		}
		t.Logf("goroutines %d then %d, heap %d then %d", goroutines, g, heap, h)
		goroutines, heap = g, h
	}
	t.Error("services leave something behind")
}
