package engine_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
)

// sealedStore returns a store with the account of due, sealed under arena.Secret,
// behind a ledger.
func sealedStore(t *testing.T, d time.Duration) *arena.Ledger {
	t.Helper()
	store, o := memory.New(), &rotator{}
	due(t, store, 0)
	w := o.at(t, store, nil)
	if _, err := w.AccessToken(t.Context(), "ada", "odd", nil); err != nil {
		t.Fatal(err)
	}
	end(w, t)
	list, err := store.ListAccounts(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	list[0].ExpiresAt = time.Now().Add(d).Unix()
	if err := store.RefreshAccount(t.Context(), list[0], 0); err != nil {
		t.Fatal(err)
	}
	return arena.NewLedger(store)
}

func secrets(list ...string) func(*authsvc.Config) {
	return func(c *authsvc.Config) { c.Secrets = list }
}

// TestReseal checks that the first read of tokens that an older secret sealed stores
// them in the current form, and that later reads do not.
func TestReseal(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*arena.World) (string, error){
		"AccessToken": func(w *arena.World) (string, error) { return w.AccessToken(t.Context(), "ada", "odd", nil) },
		"Accounts": func(w *arena.World) (string, error) {
			list, err := w.Accounts(t.Context(), "ada")
			if err != nil || len(list) != 1 || list[0].RefreshToken != "rt-1" {
				return "", fmt.Errorf("%+v, %w", list, err)
			}
			return list[0].AccessToken, nil
		},
	} {
		for _, how := range []string{"sealed", "plain"} {
			t.Run(name+" "+how, func(t *testing.T) {
				t.Parallel()
				led, o := sealedStore(t, time.Hour), &rotator{n: 1}
				rotated := func(c *authsvc.Config) {
					c.Secrets, c.ProviderTokens = []string{secondSecret, arena.Secret}, authsvc.ProviderTokens(how)
				}
				for range 3 {
					w := o.at(t, led, rotated)
					if got, err := read(w); got != "at-1" || err != nil {
						t.Errorf("%q, %v", got, err)
					}
					end(w, t)
				}
				if written := led.Written(); len(written) != 1 || !strings.HasPrefix(written[0], "ReplaceTokens") {
					t.Errorf("written: %q", written)
				}
				w := o.at(t, led, secrets(secondSecret))
				defer end(w, t)
				if got, err := read(w); got != "at-1" || err != nil || o.refreshes() != 0 {
					t.Errorf("without the older secret: %q, %v", got, err)
				}
				stored, err := led.ListAccounts(t.Context(), "ada")
				if err != nil || strings.HasPrefix(stored[0].AccessToken, "authsvc.sealed.") != (how == "sealed") {
					t.Errorf("stored: %+v, %v", stored, err)
				}
			})
		}
	}
}

// TestResealDuringSignIn checks that tokens stored by a sign-in stay while tokens are
// sealed again, even if the provider issues no refresh token to tell them apart.
func TestResealDuringSignIn(t *testing.T) {
	t.Parallel()
	led, o := sealedStore(t, time.Hour), &rotator{n: 1}
	list, err := led.ListAccounts(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	none := list[0]
	none.RefreshToken = ""
	if err := led.Behind.ReplaceTokens(t.Context(), none, list[0]); err != nil {
		t.Fatal(err)
	}
	during := &beforeReplace{Adapter: led, step: func(a authsvc.Account) {
		a.AccessToken = "at-new"
		if err := led.Behind.RefreshAccount(t.Context(), a, 0); err != nil {
			t.Error(err)
		}
	}}
	w := o.at(t, during, secrets(secondSecret, arena.Secret))
	defer end(w, t)
	if got, err := w.AccessToken(t.Context(), "ada", "odd", nil); got != "at-1" || err != nil {
		t.Errorf("during a sign-in: %q, %v", got, err)
	}
	if access, refresh := tokens(w, t); access != "at-new" || refresh != "" {
		t.Errorf("the sign-in's tokens were overwritten by %q and %q", access, refresh)
	}
}

// TestResealFails checks that sealing again is optional: a store that takes no writes
// can still be read, and tokens stored by a sign-in meanwhile stay.
func TestResealFails(t *testing.T) {
	t.Parallel()
	led, o := sealedStore(t, time.Hour), &rotator{n: 1}
	w := o.at(t, led, secrets(secondSecret, arena.Secret))
	defer end(w, t)
	led.BreakAt(func(_ int, method string) arena.Failure {
		if method == "ReplaceTokens" {
			return arena.FailBefore
		}
		return arena.Works
	})
	if got, err := w.AccessToken(t.Context(), "ada", "odd", nil); got != "at-1" || err != nil {
		t.Errorf("no writes: %q, %v", got, err)
	}
	led.BreakAt(nil)
	during := &beforeReplace{Adapter: led, step: func(a authsvc.Account) {
		a.AccessToken, a.RefreshToken = "at-new", "rt-new"
		if err := led.Behind.RefreshAccount(t.Context(), a, 0); err != nil {
			t.Error(err)
		}
	}}
	second := o.at(t, during, secrets(secondSecret, arena.Secret))
	defer end(second, t)
	if got, err := second.AccessToken(t.Context(), "ada", "odd", nil); got != "at-1" || err != nil {
		t.Errorf("during a sign-in: %q, %v", got, err)
	}
	if access, refresh := tokens(w, t); access != "at-new" || refresh != "rt-new" {
		t.Errorf("the sign-in's tokens were overwritten by %q and %q", access, refresh)
	}
}

// beforeReplace runs a step before the first ReplaceTokens.
type beforeReplace struct {
	adapter.Adapter
	step func(authsvc.Account)
	once sync.Once
}

func (m *beforeReplace) ReplaceTokens(ctx context.Context, a, was authsvc.Account) error {
	m.once.Do(func() { m.step(a) })
	return m.Adapter.ReplaceTokens(ctx, a, was)
}

// TestResealDuringRefresh checks a reader that seals the tokens again while they are
// refreshed. The new ones, which used up the old refresh token, are still stored.
func TestResealDuringRefresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		led, o := sealedStore(t, 0), &rotator{n: 1}
		reader := o.at(t, led, secrets(secondSecret, arena.Secret))
		defer end(reader, t)
		o.steps = func() {
			if _, err := reader.Accounts(t.Context(), "ada"); err != nil {
				t.Error(err)
			}
		}
		w := o.at(t, led, secrets(arena.Secret, secondSecret))
		defer end(w, t)
		if got, err := w.AccessToken(t.Context(), "ada", "odd", nil); got != "at-2" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
		if n := len(led.Written()); n < 2 {
			t.Errorf("%d writes: the reader's did not come first", n)
		}
		if access, refresh := tokens(w, t); access != "at-2" || refresh != "rt-2" {
			t.Errorf("stored %q and %q", access, refresh)
		}
	})
}
