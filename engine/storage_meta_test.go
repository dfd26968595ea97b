package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
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

// TestIssuerChange: as long as no user has an account there, the issuer may be
// corrected. Later, its ids would belong to other people.
func TestIssuerChange(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	moved := w.Config
	moved.Providers = []authsvc.Provider{&authsvc.OAuth{ID: "op", OpenID: true, Issuer: "https://elsewhere.example",
		Client: authsvc.Client{ID: "app", Secret: "s"}}}
	again := func() error {
		s, err := engine.New(moved)
		if err == nil {
			err = s.Close(t.Context())
		}
		return err
	}
	if err := again(); err != nil {
		t.Errorf("before the first account: %v", err)
	}
	w.Browser().SignIn(w.OP, "ada")
	if err := again(); err == nil || !strings.Contains(err.Error(), "Providers[0]") || !strings.Contains(err.Error(), "AcceptIssuer") {
		t.Errorf("after the first account: %v", err)
	}
	if s, err := engine.New(w.Config); err != nil {
		t.Errorf("with the issuer that it was: %v", err)
	} else if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestAcceptIssuer: each changed issuer is accepted on its own, whether or not others
// have changed too. With another mode, none is.
func TestAcceptIssuer(t *testing.T) {
	t.Parallel()
	store := memory.New()
	operator := func(mode authsvc.Compat, host string) *engine.Operator {
		t.Helper()
		c := authsvc.Config{URL: "https://app.example", Secrets: []string{arena.Secret}, Adapter: store, Compat: mode}
		for _, id := range []string{"a", "b"} {
			c.Providers = append(c.Providers, &authsvc.OAuth{ID: id, OpenID: true, Issuer: "https://" + id + host, Client: authsvc.Client{ID: "app", Secret: "s"}})
		}
		o, err := engine.NewOperator(c)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if _, err := store.PutMeta(t.Context(), "compat", string(authsvc.CompatNone)); err != nil {
		t.Fatal(err)
	}
	accept := func(o *engine.Operator, id string, dryRun bool) {
		t.Helper()
		if _, err := o.AcceptIssuer(t.Context(), id, dryRun); err != nil {
			t.Error(err)
		}
	}
	changed := func(o *engine.Operator, want ...string) {
		t.Helper()
		var got []string
		for _, e := range authsvc.ConfigErrors(o.CheckStore(t.Context())) {
			got = append(got, e.Field)
		}
		if !slices.Equal(got, want) {
			t.Errorf("changed: %q, want %q", got, want)
		}
	}
	before, after := operator("", ".before.example"), operator("", ".after.example")
	accept(before, "a", false)
	accept(before, "b", false)
	changed(before)
	changed(after, "Providers[0]", "Providers[1]")
	accept(after, "a", true)
	changed(after, "Providers[0]", "Providers[1]")
	if _, err := operator(authsvc.NextAuthV4, ".after.example").AcceptIssuer(t.Context(), "a", false); err == nil || !strings.Contains(err.Error(), "AcceptCompat") {
		t.Errorf("in another mode: %v", err)
	}
	changed(after, "Providers[0]", "Providers[1]")
	if stored, err := after.StoredIssuer(t.Context(), "a"); stored != "https://a.before.example" || err != nil {
		t.Errorf("stored %s, %v", stored, err)
	}
	accept(after, "a", false)
	changed(after, "Providers[1]")
	accept(after, "b", false)
	changed(after)
	if _, err := after.AcceptIssuer(t.Context(), "c", false); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("of no provider: %v", err)
	}
	if stored, err := after.StoredIssuer(t.Context(), "c"); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("stored of no provider: %s, %v", stored, err)
	}
}

// TestStoreRemembersItsMode: session and link tokens are stored differently in
// each mode.
func TestStoreRemembersItsMode(t *testing.T) {
	t.Parallel()
	w := arena.Start(t, nil)
	other := w.Config
	other.Compat = authsvc.NextAuthV4
	if _, err := engine.New(other); err == nil || !strings.Contains(err.Error(), "AcceptCompat") {
		t.Errorf("another mode: %v", err)
	}
}

// A metaStore counts the calls that store an issuer.
type metaStore struct {
	adapter.Adapter
	issuers atomic.Int32
}

func (s *metaStore) PutMeta(ctx context.Context, key, value string) (string, error) {
	if strings.HasPrefix(key, "issuer:") {
		s.issuers.Add(1)
	}
	return s.Adapter.PutMeta(ctx, key, value)
}

// TestIssuerIsStoredAgain checks that the issuer is not stored with each account, but
// again after a while, because a store may have lost it.
func TestIssuerIsStoredAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &metaStore{Adapter: memory.New()}
		w := arena.EnterInMemory(t, func(c *authsvc.Config) { c.Adapter = store })
		w.Browser().SignIn(w.OP, "ada")
		w.Browser().SignIn(w.OP, "grace")
		if n := store.issuers.Load(); n != 1 {
			t.Errorf("stored %d times with two accounts", n)
		}
		time.Sleep(2 * time.Minute)
		w.Browser().SignIn(w.OP, "alan")
		if n := store.issuers.Load(); n != 2 {
			t.Errorf("stored %d times, want once more after two minutes", n)
		}
	})
}
