package engine_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

func nobody(context.Context, map[string]string) (authsvc.User, error) {
	return authsvc.User{}, authsvc.ErrAccessDenied
}

// replica runs a service, without a network, on a store that other replicas may share.
func replica(t *testing.T, store adapter.Adapter, tune func(*authsvc.Config)) *arena.World {
	t.Helper()
	w := &arena.World{T: t, Logs: &arena.LogBuffer{}, Store: store}
	w.Config = authsvc.Config{URL: arena.Origin, Secrets: []string{arena.Secret}, Adapter: store, Session: authsvc.SessionOptions{Strategy: "jwt"},
		Logger:    slog.New(slog.NewTextHandler(w.Logs, nil)),
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: nobody}}}
	if tune != nil {
		tune(&w.Config)
	}
	s, err := engine.New(w.Config)
	if err != nil {
		t.Fatal(err)
	}
	w.Service = s
	return w
}

func end(w *arena.World, t *testing.T) {
	t.Helper()
	if err := w.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// TestRateLimitSharedByReplicas checks that replicas with a common store share a rate
// limit. Without one, or if the store fails, each replica counts alone.
func TestRateLimitSharedByReplicas(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		store func() adapter.Adapter
		want  int // attempts that pass, of 4 at each of 2 replicas
	}{
		"one store":             {func() func() adapter.Adapter { m := memory.New(); return func() adapter.Adapter { return m } }(), 3},
		"one store per replica": {func() adapter.Adapter { return memory.New() }, 6},
		"a broken one":          {func() adapter.Adapter { return noPermits{memory.New()} }, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			passed := 0
			for range 2 {
				w := replica(t, c.store(), func(config *authsvc.Config) {
					config.RateLimit = authsvc.RateLimit{SignIn: authsvc.Rate{N: 3, Per: time.Hour}}
				})
				defer end(w, t)
				b := w.Browser()
				for range 4 {
					switch a := b.Post("/api/auth/callback/credentials", "username", "ada", "password", "wrong"); a.StatusCode {
					case http.StatusTooManyRequests:
					default:
						passed++
					}
				}
				if name == "a broken one" && !strings.Contains(w.Logs.String(), "cannot count for a rate limit") {
					t.Error("the log has no line about it")
				}
			}
			if passed != c.want {
				t.Errorf("%d attempts passed, want %d", passed, c.want)
			}
		})
	}
}

// A noPermits store fails to count requests.
type noPermits struct{ adapter.Adapter }

func (noPermits) Permit(context.Context, time.Time, ...adapter.Quota) (int, time.Duration, error) {
	return 0, 0, errors.New("no permits today")
}

// A sweeps store counts how often a replica sweeps it.
type sweeps struct {
	adapter.Adapter
	n atomic.Int32
}

func (s *sweeps) Sweep(ctx context.Context, now time.Time, limit int) (int, error) {
	s.n.Add(1)
	return s.Adapter.Sweep(ctx, now, limit)
}

// TestOneReplicaSweeps checks that only one replica sweeps. If it ends or dies, another
// continues.
func TestOneReplicaSweeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		a, b := &sweeps{Adapter: store}, &sweeps{Adapter: store}
		first := replica(t, a, nil)
		time.Sleep(time.Second)
		second := replica(t, b, nil)
		time.Sleep(10*time.Minute + time.Second)
		if a.n.Load() != 10 || b.n.Load() != 0 {
			t.Errorf("swept %d and %d times in ten minutes", a.n.Load(), b.n.Load())
		}
		end(first, t)
		time.Sleep(time.Minute)
		if b.n.Load() != 1 {
			t.Errorf("swept %d times in the minute after the other ended", b.n.Load())
		}
		// A replica that dies does not release its lease.
		if err := store.Lease(t.Context(), "sweep", "dead", time.Now().Add(time.Hour), time.Now().Add(3*time.Minute)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2*time.Minute + 30*time.Second)
		if b.n.Load() != 1 {
			t.Errorf("swept %d times although another has the lease", b.n.Load())
		}
		time.Sleep(2 * time.Minute)
		if b.n.Load() < 2 {
			t.Error("no replica sweeps")
		}
		end(second, t)
	})
}

// An unlinking store calls before and after around the storing of a session, to make a
// change that another replica could make at that moment.
type unlinking struct {
	adapter.Adapter
	before, after func(ctx context.Context, a adapter.Adapter) error
}

func (u *unlinking) CreateSession(ctx context.Context, s adapter.SessionRecord) (adapter.SessionRecord, error) {
	if u.before != nil {
		if err := u.before(ctx, u.Adapter); err != nil {
			return s, err
		}
	}
	s, err := u.Adapter.CreateSession(ctx, s)
	if err == nil && u.after != nil {
		err = u.after(ctx, u.Adapter)
	}
	return s, err
}

// TestAccountRemovedDuringSignIn checks that a sign-in fails if its account is unlinked
// before the session is stored; a stored session survives. The first proof of the email
// address, which removes the account, ends even a stored session.
func TestAccountRemovedDuringSignIn(t *testing.T) {
	t.Parallel()
	unlink := func(ctx context.Context, a adapter.Adapter) error {
		u, err := a.GetUserByAccount(ctx, "op", "alan")
		if err != nil {
			return err
		}
		return a.UnlinkAccount(ctx, "op", "alan", u.Epoch, unlinkOf(u.ID))
	}
	proof := func(ctx context.Context, a adapter.Adapter) error {
		u, err := a.GetUserByAccount(ctx, "op", "alan")
		if err == nil {
			_, _, err = a.ProveEmail(ctx, adapter.Proof{UserID: u.ID, Email: u.Email, Epoch: u.Epoch, At: time.Now(), Revoke: endOf(u.ID)})
		}
		return err
	}
	for name, c := range map[string]struct {
		before, after func(context.Context, adapter.Adapter) error
		in            bool
	}{
		"no change":          {nil, nil, true},
		"unlinked before":    {unlink, nil, false},
		"unlinked after":     {nil, unlink, true}, // the session came first, and continues
		"first proof before": {proof, nil, false},
		"first proof after":  {nil, proof, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &unlinking{Adapter: memory.New()}
			w := arena.Start(t, func(config *authsvc.Config) { config.Adapter = store })
			w.Browser().SignIn(w.OP, "alan")
			store.before, store.after = c.before, c.after
			b := w.Browser()
			b.SignIn(w.OP, "alan")
			if in := b.Email() != ""; in != c.in {
				t.Errorf("signed in: %v\n%s", in, w.Logs)
			}
		})
	}
}

// A slowStore reads users slowly.
type slowStore struct{ adapter.Adapter }

func (s slowStore) GetUser(ctx context.Context, id string) (authsvc.User, error) {
	time.Sleep(5 * time.Millisecond)
	return s.Adapter.GetUser(ctx, id)
}

// TestManyWaitForALease checks that all of 64 callers at three replicas get the same
// lease before they give up. If they retried in step, only one would get it each time.
func TestManyWaitForALease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list := replicas(t, 3, func(c *authsvc.Config) { c.Adapter = slowStore{memory.New()} })
		if _, err := list[0].ScheduleDeletion(t.Context(), "ada-id"); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		begun := time.Now()
		for i := range 64 {
			all.Go(func() {
				if err := list[i%len(list)].CancelDeletion(t.Context(), "ada-id"); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		t.Logf("all replicas had it after %v", time.Since(begun))
		closeAll(t, list)
	})
}
