package engine_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/adaptertest"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	"authsvc/internal/test/arena/stores"
)

const newSecret = "aT4nM2kQ8vX6zB1dF3hJ5lP7rS9uW0yC2eG4iK6oN8q"

// under returns an operator of an existing store with other secrets.
func under(t *testing.T, w *arena.World, list ...string) *engine.Operator {
	t.Helper()
	c := w.Config
	c.Secrets = list
	s, err := engine.NewOperator(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReseal checks, in every store, that values sealed with the older secret are
// counted, resealed once, and readable with only the new secret. Without the older
// secret, they are reported.
func TestReseal(t *testing.T) {
	t.Parallel()
	for _, k := range stores.All() {
		t.Run(k.Name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			w := arena.EnterInMemory(t, func(c *authsvc.Config) {
				c.Adapter, c.PersonalTokens.Enabled = k.Open(t), true
				c.Tokens.Audiences = []authsvc.Audience{{ID: "api"}}
			})
			b := w.Browser()
			b.SignIn(w.OP, "ada")
			u, err := w.Store.GetUserByEmail(ctx, "ada@example.com")
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := w.CreatePersonalToken(ctx, u.ID, authsvc.PersonalTokenRequest{Name: "ci", Audiences: []string{"api"}}); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			want := engine.Resealed{Users: 1, Accounts: 1, Credentials: 1, SigningKeys: true}
			both := under(t, w, newSecret, arena.Secret)
			for _, step := range []struct {
				what   string
				s      *engine.Operator
				dryRun bool
				want   engine.Resealed
			}{
				{"the same secret", under(t, w, arena.Secret, newSecret), false, engine.Resealed{Users: 1}},
				{"another secret alone", under(t, w, newSecret), false, engine.Resealed{Users: 1, Left: 3}},
				{"counted", both, true, want},
				{"counted again", both, true, want},
				{"resealed", both, false, want},
				{"nothing left to do", both, false, engine.Resealed{Users: 1}},
			} {
				if got, err := step.s.Reseal(ctx, step.dryRun, nil); err != nil || got != step.want {
					t.Fatalf("%s: %+v, want %+v: %v", step.what, got, step.want, err)
				}
			}
			for name, tt := range map[string]struct {
				s     *engine.Operator
				opens bool
			}{"the new one": {under(t, w, newSecret), true}, "the older one": {under(t, w, arena.Secret), false}} {
				accounts, err := tt.s.Accounts(ctx, u.ID)
				if err != nil || len(accounts) != 1 || (accounts[0].AccessToken != "") != tt.opens {
					t.Errorf("%s: %+v, %v", name, accounts, err)
				}
				tokens, err := tt.s.PersonalTokens(ctx, u.ID)
				if err != nil || len(tokens) != 1 || tokens[0].Sealed == tt.opens {
					t.Errorf("%s: %+v, %v", name, tokens, err)
				}
			}
		})
	}
}

// An overtaken store changes a credential directly after it was read for a user.
type overtaken struct {
	adapter.Adapter
	user string
}

// GetPerson implements [adapter.Adapter].
func (o *overtaken) GetPerson(ctx context.Context, id string) (adapter.Person, error) {
	p, err := o.Adapter.GetPerson(ctx, id)
	if err == nil && id == o.user && len(p.Credentials) > 0 {
		c := p.Credentials[0]
		c.Name, c.Used = "renamed", time.Unix(1_800_000_000, 0).UTC()
		err = o.UpdateCredential(ctx, c)
	}
	return p, err
}

// TestResealIsResumed checks that an interrupted run continues, and that values used
// or changed meanwhile are neither lost nor reverted.
func TestResealIsResumed(t *testing.T) {
	t.Parallel()
	ctx, store := t.Context(), memory.New()
	w := arena.EnterInMemory(t, func(c *authsvc.Config) {
		c.Adapter, c.PersonalTokens.Enabled = store, true
		c.Tokens.Audiences = []authsvc.Audience{{ID: "api"}}
	})
	const users = 2500
	for i := range users {
		id := fmt.Sprintf("u-%04d", i)
		if _, err := store.CreateUser(ctx, authsvc.User{ID: id}, nil); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.CreatePersonalToken(ctx, id, authsvc.PersonalTokenRequest{Name: "ci", Audiences: []string{"api"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.Config.Adapter = &overtaken{store, "u-1000"}
	both, stop := under(t, w, newSecret, arena.Secret), errors.New("stop")
	var steps []int
	r, err := both.Reseal(ctx, false, func(r engine.Resealed) error {
		if steps = append(steps, r.Users); r.Users == 2000 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || r.Credentials != 2000 || len(steps) != 2 {
		t.Fatalf("%+v in steps %v: %v", r, steps, err)
	}
	p, err := store.GetPerson(ctx, "u-1000")
	if err != nil || p.Credentials[0].Name != "renamed" || p.Credentials[0].Used.IsZero() {
		t.Errorf("%+v, %v", p, err)
	}
	if r, err = both.Reseal(ctx, false, nil); err != nil || r.Credentials != users-2000 || r.Users != users || r.Left != 0 {
		t.Errorf("the rest: %+v, %v", r, err)
	}
}

// TestResealStoreAway checks that if the store fails, records are not counted as
// sealed with an unknown secret.
func TestResealStoreAway(t *testing.T) {
	t.Parallel()
	ctx, store := t.Context(), adaptertest.Faulty(memory.New())
	w := arena.EnterInMemory(t, func(c *authsvc.Config) {
		c.Adapter = store
		c.Tokens.Audiences = []authsvc.Audience{{ID: "api"}}
	})
	w.Browser().SignIn(w.OP, "ada")
	if err := w.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	both := under(t, w, newSecret, arena.Secret)
	for _, method := range []string{"ListUsers", "ListAccounts", "GetPerson", "GetMeta"} {
		store.FailAll(method)
		if r, err := both.Reseal(ctx, false, nil); !errors.Is(err, adaptertest.ErrFault) || r.Left != 0 {
			t.Errorf("%s away: %+v, %v", method, r, err)
		}
		store.FailBefore(0)
		store.FailAll("none")
	}
	if r, err := both.Reseal(ctx, false, nil); err != nil || r.Left != 0 || !r.SigningKeys {
		t.Errorf("twin: %+v, %v", r, err)
	}
}
