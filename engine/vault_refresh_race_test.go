package engine_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
)

// TestRefreshOnceForAllCallers checks that of many callers at two replicas one asks the
// provider and all get its answer. The next refresh uses the new refresh token.
func TestRefreshOnceForAllCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, o := memory.New(), &rotator{delay: 3 * time.Second}
		due(t, store, 30*time.Second)
		replicas := []*arena.World{o.at(t, store, nil), o.at(t, store, nil)}
		for round, want := range []string{"at-1", "at-2"} {
			var wg sync.WaitGroup
			var wrong atomic.Int32
			for i := range 64 {
				wg.Go(func() {
					if got, err := replicas[i%2].AccessToken(t.Context(), "ada", "odd", nil); got != want || err != nil {
						wrong.Add(1)
						t.Errorf("%q, %v", got, err)
					}
				})
			}
			wg.Wait()
			if n := o.refreshes(); n != round+1 {
				t.Fatalf("the provider was asked %d times in %d rounds", n, round+1)
			}
			time.Sleep(time.Hour)
		}
		for _, w := range replicas {
			end(w, t)
		}
		stored, err := store.ListAccounts(t.Context(), "ada")
		if err != nil || !strings.HasPrefix(stored[0].RefreshToken, "authsvc.sealed.") || strings.Contains(stored[0].AccessToken, "at-") {
			t.Errorf("stored %+v, %v", stored, err)
		}
	})
}

// dying makes another replica take the first requested lease and die.
type dying struct {
	adapter.Adapter
	once sync.Once
}

func (d *dying) Lease(ctx context.Context, name, holder string, now, until time.Time) error {
	if strings.HasPrefix(name, "refresh:") {
		d.once.Do(func() {
			if err := d.Adapter.Lease(ctx, name, "dead", now, until); err != nil {
				panic(err)
			}
		})
	}
	return d.Adapter.Lease(ctx, name, holder, now, until)
}

func TestRefreshAfterReplicaDied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, o := memory.New(), &rotator{}
		due(t, store, 0)
		w := o.at(t, &dying{Adapter: store}, nil)
		began := time.Now()
		if _, err := w.AccessToken(t.Context(), "ada", "odd", nil); !errors.Is(err, authsvc.ErrBusy) || o.refreshes() != 0 {
			t.Errorf("while the lease stands: %v, asked %d times", err, o.refreshes())
		}
		if d := time.Since(began); d < 15*time.Second || d > 20*time.Second {
			t.Errorf("waited %v", d)
		}
		got, err := w.AccessToken(t.Context(), "ada", "odd", nil)
		if got != "at-1" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if d := time.Since(began); d < 30*time.Second || d > 35*time.Second {
			t.Errorf("taken over after %v", d)
		}
		end(w, t)
	})
}

// TestRefreshKeepsItsLease checks that a long refresh keeps its lease.
func TestRefreshKeepsItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		led, o := arena.NewLedger(memory.New()), &rotator{}
		due(t, led, 0)
		first, second := o.at(t, led, nil), o.at(t, led.Behind, nil)
		led.BreakAt(func(_ int, method string) arena.Failure {
			if method == "ReplaceTokens" {
				return arena.FailBefore
			}
			return arena.Works
		})
		if _, err := first.AccessToken(t.Context(), "ada", "odd", nil); err == nil {
			t.Fatal("a token that is not stored is given out")
		}
		for range 10 {
			if _, err := second.AccessToken(t.Context(), "ada", "odd", nil); !errors.Is(err, authsvc.ErrBusy) {
				t.Errorf("another replica: %v", err)
			}
		}
		led.BreakAt(nil)
		time.Sleep(10 * time.Second)
		if got, err := second.AccessToken(t.Context(), "ada", "odd", nil); got != "at-1" || err != nil || o.refreshes() != 1 {
			t.Errorf("%q, %v, asked %d times", got, err, o.refreshes())
		}
		end(first, t)
		end(second, t)
	})
}

// TestAccountChangesDuringRefresh changes the account while the provider is asked.
func TestAccountChangesDuringRefresh(t *testing.T) {
	t.Parallel()
	signIn := func(store adapter.Adapter) error {
		return store.RefreshAccount(context.Background(), authsvc.Account{UserID: "ada", Provider: "odd", ProviderAccountID: "7",
			AccessToken: "at-new", RefreshToken: "rt-new", ExpiresAt: time.Now().Add(time.Hour).Unix()}, 0)
	}
	for name, c := range map[string]struct {
		refused bool
		step    func(adapter.Adapter) error
		want    error
		kept    string // refresh token; "-": no account
		revoked string
	}{
		"nothing":             {step: func(adapter.Adapter) error { return nil }, kept: "rt-1"},
		"sign-in":             {step: signIn, want: authsvc.ErrBusy, kept: "rt-new"},
		"sign-in and refusal": {refused: true, step: signIn, want: authsvc.ErrBusy, kept: "rt-new"},
		"unlinked": {step: func(s adapter.Adapter) error {
			return s.UnlinkAccount(context.Background(), "odd", "7", 0, unlinkOf("ada"))
		},
			want: adapter.ErrNotFound, kept: "-", revoked: "refresh_token rt-1,access_token at-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := memory.New()
				o := &rotator{ended: c.refused}
				var once sync.Once
				o.steps = func() {
					once.Do(func() {
						if err := c.step(store); err != nil {
							panic(err)
						}
					})
				}
				due(t, store, 0)
				w := o.at(t, store, nil)
				if _, err := w.AccessToken(t.Context(), "ada", "odd", nil); !errors.Is(err, c.want) {
					t.Errorf("%v, want %v", err, c.want)
				}
				synctest.Wait()
				if list, _ := w.Accounts(t.Context(), "ada"); (len(list) == 0) != (c.kept == "-") || len(list) == 1 && list[0].RefreshToken != c.kept {
					t.Errorf("kept %+v", list)
				}
				if got := strings.Join(o.revoked, ","); got != c.revoked {
					t.Errorf("revoked %q", got)
				}
				if c.kept == "rt-new" {
					if got, err := w.AccessToken(t.Context(), "ada", "odd", nil); got != "at-new" || err != nil {
						t.Errorf("next: %q, %v", got, err)
					}
				}
				end(w, t)
			})
		})
	}
}
