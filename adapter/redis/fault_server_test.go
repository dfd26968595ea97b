package redis

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/internal/test/quiet"
)

// TestHangingServer checks that a call to a server that hangs ends with its context.
func TestHangingServer(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := open(t, p.url(), newPrefix())
	for range 4 { // a pool of several connections
		putLink(t, s, newPrefix())
	}
	p.signal(syscall.SIGSTOP)
	for name, begin := range map[string]func() (context.Context, context.CancelFunc, error){
		"deadline": func() (context.Context, context.CancelFunc, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
			return ctx, cancel, context.DeadlineExceeded
		},
		"cancel": func() (context.Context, context.CancelFunc, error) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(150*time.Millisecond, cancel)
			return ctx, cancel, context.Canceled
		},
	} {
		for step, call := range map[string]func(context.Context) error{
			"GetSession": func(ctx context.Context) error { _, _, err := s.GetSession(ctx, "t", "t"); return err },
			"UseOnce":    func(ctx context.Context) error { return s.UseOnce(ctx, name, time.Now()) },
			"Ping":       s.Ping,
		} {
			ctx, cancel, want := begin()
			began := time.Now()
			err := call(ctx)
			cancel()
			if took := time.Since(began); !errors.Is(err, want) || took > quiet.Limit(time.Second) {
				t.Errorf("%s, %s: %v after %v", name, step, err, took)
			}
		}
	}
	p.signal(syscall.SIGCONT)
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("after SIGCONT: %v", err)
	}
}

// TestServerCrash checks that all acknowledged records survive a crash of the server,
// and that the store reconnects by itself.
func TestServerCrash(t *testing.T) {
	t.Parallel()
	p := start(t, "--appendonly", "yes", "--appendfsync", "always")
	s := open(t, p.url(), newPrefix())
	const writers = 4
	stop := make(chan struct{})
	acknowledged := make([][]string, writers)
	var written atomic.Int32
	done := make(chan struct{}, writers)
	for i := range writers {
		go func() {
			defer func() { done <- struct{}{} }()
			acknowledged[i] = signUps(t, s, fmt.Sprint(i), stop, &written)
		}()
	}
	more := func() {
		t.Helper()
		for goal, end := written.Load()+50, time.Now().Add(time.Minute); written.Load() < goal; {
			if time.Now().After(end) {
				t.Fatal("writes have stopped")
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	for range 2 {
		more()
		p.kill()
		p.run()
		p.await()
		more()
	}
	close(stop)
	for range writers {
		<-done
	}
	for _, ids := range acknowledged {
		checkSignUps(t, s, ids)
	}
	t.Logf("%d sign-ups acknowledged over 2 crashes", written.Load())
}

// signUps signs people up until stop is closed, and returns the ids of those that
// succeeded.
func signUps(t *testing.T, s adapter.Adapter, who string, stop <-chan struct{}, written *atomic.Int32) (acknowledged []string) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return acknowledged
		default:
		}
		id := fmt.Sprintf("%s-%d", who, n)
		acc := adapter.Account{ID: id, Type: "oauth", Provider: "p", ProviderAccountID: id}
		rec := adapter.SessionRecord{ID: id, SessionToken: id, Digest: id, Expires: time.Now().Add(time.Hour)}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if _, err := s.SignUp(ctx, adapter.User{ID: id}, &acc, &rec, "", nil); err == nil {
			acknowledged = append(acknowledged, id)
			written.Add(1)
		} else if errors.Is(err, adapter.ErrConflict) {
			t.Errorf("%s: a sign-up conflicts with itself", id)
		}
		cancel()
	}
}

// checkSignUps checks that each sign-up is stored with its account and session.
func checkSignUps(t *testing.T, s adapter.Adapter, ids []string) {
	t.Helper()
	for _, id := range ids {
		list, err := s.ListAccounts(t.Context(), id)
		if err != nil || len(list) != 1 {
			t.Errorf("%s: accounts %v, %v", id, list, err)
		}
		if _, _, err := s.GetSession(t.Context(), id, id); err != nil {
			t.Errorf("%s: session: %v", id, err)
		}
	}
}

// TestMemoryFull checks that, when memory is full, a step is refused as a whole, and
// sign-out and sweep still work.
func TestMemoryFull(t *testing.T) {
	t.Parallel()
	p := start(t)
	s := open(t, p.url(), newPrefix())
	ctx, now := t.Context(), time.Now()
	rec := adapter.SessionRecord{ID: "s", SessionToken: "s", Digest: "s", Expires: now.Add(time.Hour)}
	if _, err := s.SignUp(ctx, adapter.User{ID: "u", Email: "old@example.com"}, nil, &rec, "", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.UseOnce(ctx, "old", now.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	p.admin("config", "set", "maxmemory", "1")
	if _, err := s.SignUp(ctx, adapter.User{ID: "new", Email: "new@example.com"}, nil, nil, "", nil); err == nil || Unreachable(err) {
		t.Errorf("sign-up: %v", err)
	}
	if err := s.UseOnce(ctx, "new", now); err == nil || errors.Is(err, adapter.ErrConflict) {
		t.Errorf("use once: %v", err)
	}
	email := "changed@example.com"
	_, changed := s.UpdateUser(ctx, "u", adapter.UserUpdate{Email: &email})
	u, err := s.GetUser(ctx, "u")
	owner, ownerErr := s.GetUserByEmail(ctx, u.Email)
	if err != nil || ownerErr != nil || !reflect.DeepEqual(owner, u) || (u.Email == email) != (changed == nil) {
		t.Errorf("half a change of address: %v, %v, %v, %v", u, err, ownerErr, changed)
	}
	if _, err := s.DeleteSession(ctx, "s"); err != nil {
		t.Errorf("sign-out: %v", err)
	}
	if n, err := s.Sweep(ctx, now, 10); n != 1 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	p.admin("config", "set", "maxmemory", "0")
	if _, err := s.SignUp(ctx, adapter.User{ID: "new", Email: "new@example.com"}, nil, nil, "", nil); err != nil {
		t.Errorf("with memory again: %v", err)
	}
}
