package engine_test

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
)

// A clocked store has a clock that is ahead of this machine's, and answers slowly.
type clocked struct {
	adapter.Adapter
	ahead atomic.Int64
	took  []time.Duration // of each answer; a quarter passes before the clock is read
	down  atomic.Bool
	n     atomic.Int64
}

func (c *clocked) Now(ctx context.Context) (time.Time, error) {
	if c.down.Load() {
		return time.Time{}, errors.New("connection reset")
	}
	var took time.Duration
	if len(c.took) > 0 {
		took = c.took[int(c.n.Add(1)-1)%len(c.took)]
	}
	time.Sleep(took / 4)
	now := time.Now().Add(time.Duration(c.ahead.Load()))
	time.Sleep(took - took/4)
	return now, ctx.Err()
}

func clockedService(t *testing.T, ahead time.Duration, took ...time.Duration) (w interface {
	Ready(context.Context) error
	Close(context.Context) error
}, store *clocked, logs func() string, written func() time.Time) {
	t.Helper()
	store = &clocked{Adapter: memory.New(), took: took}
	store.ahead.Store(int64(ahead))
	r := replica(t, store, func(c *authsvc.Config) { c.Audit.Store = false })
	n := 0
	return r, store, r.Logs.String, func() time.Time {
		n++ // another user, so that each call writes its own record
		if err := r.EndSessions(t.Context(), strconv.Itoa(n)); err != nil {
			t.Fatal(err)
		}
		list, _, err := store.Revocations(t.Context(), 0, 10)
		if err != nil || len(list) != n {
			t.Fatal(list, err)
		}
		return list[n-1].NotBefore
	}
}

// TestStoreClock checks that stored times follow the store's clock if this machine's
// clock differs by a second or more. Above 2 s the service logs the difference, above
// 30 s it is not ready. No difference prevents its start.
func TestStoreClock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ahead        time.Duration
		applied      time.Duration
		warns, ready bool
	}{
		"the same":           {0, 0, false, true},
		"a little":           {200 * time.Millisecond, 0, false, true},
		"a little behind":    {-200 * time.Millisecond, 0, false, true},
		"a second":           {time.Second, time.Second, false, true},
		"seconds":            {3 * time.Second, 3 * time.Second, true, true},
		"half a minute":      {30 * time.Second, 30 * time.Second, true, true},
		"that behind":        {-30 * time.Second, -30 * time.Second, true, true},
		"more":               {31 * time.Second, 31 * time.Second, true, false},
		"an hour behind":     {-time.Hour, -time.Hour, true, false},
		"a wrong date, even": {-24 * 365 * time.Hour, -24 * 365 * time.Hour, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, _, logs, written := clockedService(t, c.ahead)
				if got := time.Until(written()); got.Round(10*time.Millisecond) != c.applied {
					t.Errorf("%v was applied", got)
				}
				if got := strings.Contains(logs(), "clock of this machine"); got != c.warns {
					t.Errorf("warned: %v\n%s", got, logs())
				}
				if err := s.Ready(t.Context()); (err == nil) != c.ready {
					t.Errorf("ready: %v", err)
				}
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestStoreClockMeasurement checks that the fastest of several answers counts and that
// the service notices a jump of the clock within about 30 s. If the store does not
// answer, the last known difference stays.
func TestStoreClockMeasurement(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, store, logs, written := clockedService(t, 10*time.Second, 600*time.Millisecond, 8*time.Millisecond, 400*time.Millisecond)
		near := func(want time.Duration) {
			t.Helper()
			if got := time.Until(written()); (got - want).Abs() > 10*time.Millisecond {
				t.Errorf("%v was applied, not %v", got, want)
			}
		}
		near(10 * time.Second)
		store.ahead.Store(int64(-40 * time.Second))
		time.Sleep(32 * time.Second)
		near(-40 * time.Second)
		if s.Ready(t.Context()) == nil {
			t.Error("ready at 40 s")
		}
		store.down.Store(true)
		time.Sleep(32 * time.Second)
		near(-40 * time.Second)
		if !strings.Contains(logs(), "cannot read the clock of the store") {
			t.Error("nothing was logged")
		}
		store.down.Store(false)
		store.ahead.Store(0)
		time.Sleep(32 * time.Second)
		near(0)
		if err := s.Ready(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestTokenExpiryUsesStoreClock checks that, after sign-ins and refreshes, the expiry of
// a provider's access token is stored by the store's clock, with which it is compared
// later.
func TestTokenExpiryUsesStoreClock(t *testing.T) {
	t.Parallel()
	for _, ahead := range []time.Duration{0, 25 * time.Second, -25 * time.Second} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			store := &clocked{Adapter: memory.New()}
			store.ahead.Store(int64(ahead))
			w := arena.Start(t, func(c *authsvc.Config) { c.Adapter = store })
			refreshing(w, func(*http.Request) string {
				return `{"access_token":"at-1","token_type":"bearer","expires_in":3600}`
			})
			begun := time.Now()
			ends := func(within time.Duration) {
				t.Helper()
				u, err := store.GetUserByAccount(t.Context(), "op", "ada")
				if err != nil {
					t.Fatal(err)
				}
				list, err := store.ListAccounts(t.Context(), u.ID)
				if err != nil || len(list) != 1 {
					t.Fatal(list, err)
				}
				const leeway = 5 * time.Second
				end := time.Unix(list[0].ExpiresAt, 0).Add(-within - ahead)
				if end.Before(begun.Add(-leeway)) || end.After(time.Now().Add(leeway)) {
					t.Errorf("the token of %v ends %v late", within, time.Since(end))
				}
			}
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			ends(time.Second)
			if _, err := w.AccessToken(t.Context(), w.Person(t, b), "op", nil); err != nil {
				t.Fatal(err)
			}
			ends(time.Hour)
		})
	}
}
