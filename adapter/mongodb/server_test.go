package mongodb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/test/quiet"
	"authsvc/internal/test/servertest"
)

// acknowledged records the sign-ups and sign-outs that succeeded.
type acknowledged struct {
	mu      sync.Mutex
	in, out map[string]bool
	n       atomic.Int64
}

func (a *acknowledged) add(list map[string]bool, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	list[id] = true
	a.n.Add(1)
}

// work signs people up, and every second one out again, until ctx is done.
func (a *acknowledged) work(ctx context.Context, s *Store, worker int) {
	for i := 0; ctx.Err() == nil; i++ {
		id := fmt.Sprintf("%d-%d", worker, i)
		acc := adapter.Account{Type: "oauth", Provider: "p", ProviderAccountID: id}
		rec := adapter.SessionRecord{SessionToken: id, Digest: id, Expires: time.Now().Add(time.Hour)}
		if _, err := s.SignUp(ctx, adapter.User{}, &acc, &rec, "", nil); err != nil {
			continue
		}
		a.add(a.in, id)
		if i%2 == 0 {
			if _, err := s.DeleteSession(ctx, id); err == nil {
				a.add(a.out, id)
			}
		}
	}
}

func (a *acknowledged) await(t *testing.T, more int64) {
	t.Helper()
	begun, want := time.Now(), a.n.Load()+more
	for ; a.n.Load() < want; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > time.Minute {
			t.Fatal("it does not recover")
		}
	}
}

// TestServerKilled checks that a server that is killed and restarted loses nothing
// acknowledged, and that the store reconnects by itself.
func TestServerKilled(t *testing.T) {
	server := servertest.OwnFerretDB(t)
	s := again(t, server.URL, Options{Migrate: true})
	a := &acknowledged{in: map[string]bool{}, out: map[string]bool{}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() { a.work(ctx, s, worker) })
	}
	for range 2 {
		a.await(t, 30)
		server.Kill()
		if err := s.Ping(ctx); err == nil || !Unreachable(err) {
			t.Errorf("ping of a dead server: %v", err)
		}
		server.Start()
		a.await(t, 30)
	}
	cancel()
	wg.Wait()
	for id := range a.in {
		if _, err := s.GetUserByAccount(t.Context(), "p", id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	for id := range a.out {
		if _, _, err := s.GetSession(t.Context(), id, id); !errors.Is(err, adapter.ErrNotFound) {
			t.Errorf("%s: signed out, but got %v", id, err)
		}
	}
	t.Logf("%d sign-ups, %d sign-outs acknowledged", len(a.in), len(a.out))
}

// TestServerFrozen checks that a server that hangs does not block a call for long.
func TestServerFrozen(t *testing.T) {
	server := servertest.OwnFerretDB(t)
	s := again(t, server.URL, Options{Migrate: true})
	ann, err := s.CreateUser(t.Context(), adapter.User{Name: "Ann"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	server.Freeze()
	calls := []func() error{
		func() error { _, err := s.GetUser(t.Context(), ann.ID); return err },
		func() error { _, err := s.GetUserByEmail(t.Context(), "ann@example.com"); return err },
		func() error { _, _, err := s.GetSession(t.Context(), "token", "digest"); return err },
		func() error { _, err := s.ListAccounts(t.Context(), ann.ID); return err },
		func() error { _, err := s.SignUp(t.Context(), adapter.User{}, nil, nil, "", nil); return err },
		func() error { return s.UseOnce(t.Context(), "key", time.Now()) },
	}
	var wg sync.WaitGroup
	for i := range 18 {
		wg.Go(func() {
			begun := time.Now()
			err := calls[i%len(calls)]()
			if took := time.Since(begun); err == nil || errors.Is(err, adapter.ErrNotFound) || took > quiet.Limit(8*time.Second) {
				t.Errorf("after %v: %v", took, err)
			}
		})
	}
	wg.Wait()
	server.Thaw()
	for thawed := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if _, err := s.GetUser(t.Context(), ann.ID); err == nil {
			return
		} else if time.Since(thawed) > quiet.Limit(15*time.Second) {
			t.Fatalf("does not recover: %v", err)
		}
	}
}
