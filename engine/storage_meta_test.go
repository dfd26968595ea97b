package engine_test

import (
	"strings"
	"testing"

	"authsvc"
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
