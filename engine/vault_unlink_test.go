package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
)

func TestUnlinkAccount(t *testing.T) {
	t.Parallel()
	mail := &authsvc.Email{From: "a@app.test", Send: func(context.Context, authsvc.Message) error { return nil }}
	other := authsvc.Account{ID: "a2", UserID: "ada", Type: "oauth", Provider: "odd", ProviderAccountID: "8"}
	for name, c := range map[string]struct {
		verified, mail bool
		more           []authsvc.Account
		last           bool // with EvenLast
		user, id       string
		want           error
	}{
		"the last":               {want: authsvc.ErrLastAccount},
		"the last, by wish":      {last: true},
		"another account":        {more: []authsvc.Account{other}},
		"another user's":         {more: []authsvc.Account{other}, user: "bob", want: adapter.ErrNotFound},
		"no such account":        {more: []authsvc.Account{other}, id: "9", want: adapter.ErrNotFound},
		"no such user":           {user: "u-none", want: adapter.ErrNotFound},
		"mail, verified":         {verified: true, mail: true},
		"mail, not verified":     {mail: true, want: authsvc.ErrLastAccount},
		"verified, no mail":      {verified: true, want: authsvc.ErrLastAccount},
		"provider that was once": {more: []authsvc.Account{{ID: "a2", UserID: "ada", Provider: "gone", ProviderAccountID: "8"}}, want: authsvc.ErrLastAccount},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, o := memory.New(), &rotator{}
			due(t, store, time.Hour)
			unlinkable(t, store, c.verified, c.more)
			var events []string
			w := o.at(t, store, func(config *authsvc.Config) {
				if c.mail {
					config.Providers = append(config.Providers, mail)
				}
				config.Events.UnlinkAccount = func(_ context.Context, u authsvc.User, a authsvc.Account) {
					events = append(events, u.ID+" "+a.ProviderAccountID+" "+a.AccessToken)
				}
			})
			user, id := "ada", "7"
			if c.user != "" {
				user = c.user
			}
			if c.id != "" {
				id = c.id
			}
			if err := w.UnlinkAccount(t.Context(), user, "odd", id, &engine.UnlinkOptions{EvenLast: c.last}); !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
			end(w, t) // returns after the revocation
			_, err := store.GetUserByAccount(t.Context(), "odd", "7")
			if gone := errors.Is(err, adapter.ErrNotFound); gone != (c.want == nil) {
				t.Errorf("gone: %v", gone)
			}
			want := []string{"refresh_token rt-0", "access_token at-0"}
			if c.want != nil {
				want = nil
			}
			if !slices.Equal(o.revoked, want) || (len(events) == 1 && events[0] == "ada 7 at-0") != (c.want == nil) {
				t.Errorf("revoked %q, events %q", o.revoked, events)
			}
		})
	}
}

// unlinkable adds bob, and gives ada an address and accounts.
func unlinkable(t *testing.T, store adapter.Adapter, verified bool, more []authsvc.Account) {
	t.Helper()
	if _, err := store.CreateUser(t.Context(), authsvc.User{ID: "bob"}, nil); err != nil {
		t.Fatal(err)
	}
	address, proved := "ada@app.test", time.Time{}
	if verified {
		proved = time.Now()
	}
	if _, err := store.UpdateUser(t.Context(), "ada", adapter.UserUpdate{Email: &address, EmailVerified: &proved}); err != nil {
		t.Fatal(err)
	}
	for _, a := range more {
		if _, err := store.LinkAccount(t.Context(), a, 0); err != nil {
			t.Fatal(err)
		}
	}
}

// slowLists answers after a delay.
type slowLists struct{ adapter.Adapter }

func (s slowLists) ListAccounts(ctx context.Context, userID string) ([]authsvc.Account, error) {
	list, err := s.Adapter.ListAccounts(ctx, userID)
	time.Sleep(time.Second)
	return list, err
}

// TestUnlinkLastAccountsAtOnce checks that two concurrent requests do not remove each
// other's last account.
func TestUnlinkLastAccountsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store, o := memory.New(), &rotator{}
		a := due(t, store, time.Hour)
		a.ID, a.ProviderAccountID = "a2", "8"
		if _, err := store.LinkAccount(t.Context(), a, 0); err != nil {
			t.Fatal(err)
		}
		replicas := []*arena.World{o.at(t, slowLists{store}, nil), o.at(t, slowLists{store}, nil)}
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i, w := range replicas {
			wg.Go(func() { errs[i] = w.UnlinkAccount(t.Context(), "ada", "odd", []string{"7", "8"}[i], nil) })
		}
		wg.Wait()
		list, err := store.ListAccounts(t.Context(), "ada")
		if err != nil || len(list) != 1 || !errors.Is(errors.Join(errs...), authsvc.ErrLastAccount) {
			t.Errorf("%d accounts are left, %v", len(list), errs)
		}
		for _, w := range replicas {
			end(w, t)
		}
	})
}

// TestTokenRevocationRetries checks that the account is removed even if the provider is
// down, and that revocation is tried again until the service closes.
func TestTokenRevocationRetries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status  int
		mended  time.Duration // 0: never
		end     time.Duration
		want    string
		asked   int // requests
		warning string
	}{
		"works":          {end: time.Hour, want: "refresh_token rt-0,access_token at-0", asked: 2},
		"comes back":     {status: 503, mended: 4 * time.Second, end: time.Hour, want: "refresh_token rt-0,access_token at-0", asked: 4},
		"stays down":     {status: 503, end: time.Hour, asked: 8, warning: "was not revoked"},
		"refuses":        {status: 400, end: time.Hour, asked: 2, warning: "was not revoked"},
		"ended too soon": {status: 503, end: 2 * time.Second, asked: 3, warning: "the service ended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store, o := memory.New(), &rotator{status: c.status}
				due(t, store, time.Hour)
				w := o.at(t, store, nil)
				if err := w.UnlinkAccount(t.Context(), "ada", "odd", "7", &engine.UnlinkOptions{EvenLast: true}); err != nil {
					t.Error(err)
				}
				if c.mended > 0 {
					time.Sleep(c.mended)
					o.set(func(o *rotator) { o.status = 0 })
				}
				time.Sleep(c.end)
				began := time.Now()
				end(w, t)
				if d := time.Since(began); d > time.Second {
					t.Errorf("the end took %v", d)
				}
				if got := strings.Join(o.revoked, ","); got != c.want || o.revokes != c.asked {
					t.Errorf("revoked %q in %d requests", got, o.revokes)
				}
				logs := w.Logs.String()
				if warned := strings.Contains(logs, "was not revoked"); warned != (c.warning != "") || !strings.Contains(logs, c.warning) || strings.Contains(logs, "rt-0") {
					t.Errorf("log:\n%s", logs)
				}
			})
		})
	}
}

// TestUnlinkAccountDuringSignIn checks that a sign-in during which the application
// unlinks the account ends without a session.
func TestUnlinkAccountDuringSignIn(t *testing.T) {
	t.Parallel()
	for name, unlink := range map[string]bool{"unlinked": true, "twin": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &unlinking{Adapter: memory.New()}
			w := arena.Start(t, func(config *authsvc.Config) { config.Adapter = store })
			w.Browser().SignIn(w.OP, "alan")
			u, err := store.GetUserByAccount(t.Context(), "op", "alan")
			if err != nil {
				t.Fatal(err)
			}
			if unlink {
				store.before = func(ctx context.Context, _ adapter.Adapter) error {
					return w.UnlinkAccount(ctx, u.ID, "op", "alan", &engine.UnlinkOptions{EvenLast: true})
				}
			}
			b := w.Browser()
			b.SignIn(w.OP, "alan")
			if in := b.Email() != ""; in == unlink {
				t.Errorf("signed in: %v\n%s", in, w.Logs)
			}
			if list, err := store.ListAccounts(t.Context(), u.ID); err != nil || (len(list) == 0) != unlink {
				t.Errorf("%d accounts, %v", len(list), err)
			}
		})
	}
}
