package engine_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc"
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
	authsvc.Adapter
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
