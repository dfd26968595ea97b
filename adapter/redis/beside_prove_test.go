package redis

import (
	"errors"
	"testing"

	"authsvc/adapter"
)

// TestBesideProveAgain checks that a proof that is not the first ends nothing.
func TestBesideProveAgain(t *testing.T) {
	t.Parallel()
	a, _, _ := newBeside(t)
	signedUp(t, a)
	u, removed, err := a.ProveEmail(t.Context(), proof())
	if err != nil || len(removed) != 1 {
		t.Fatalf("%v, %v", removed, err)
	}
	own := rec("own", "u")
	own.Epoch = u.Epoch
	if _, err := a.CreateSession(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	putLink(t, a, "l")
	again := proof()
	again.Epoch = u.Epoch
	if _, _, err := a.ProveEmail(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	checkSession(t, a, "own", true)
	if _, err := a.TakeToken(t.Context(), "ann@example.com", "l"); err != nil {
		t.Errorf("the link is gone: %v", err)
	}
}

// TestBesideProveBroken checks that an interrupted proof leaves the address unproved
// and can be repeated.
func TestBesideProveBroken(t *testing.T) {
	t.Parallel()
	a, m, _ := newBeside(t)
	signedUp(t, a)
	p := proof()
	m.before = crash
	if _, _, err := a.ProveEmail(t.Context(), p); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	u, err := a.GetUser(t.Context(), "u")
	if err != nil || !u.EmailVerified.IsZero() {
		t.Errorf("%v, %v", u, err)
	}
	m.before = nil
	if _, removed, err := a.ProveEmail(t.Context(), p); err != nil || len(removed) != 1 {
		t.Errorf("%v, %v", removed, err)
	}
	checkSession(t, a, "s", false)
}

// TestBesideProveDies checks that, if the process dies right after the step in main,
// the earlier sessions and links have ended.
func TestBesideProveDies(t *testing.T) {
	t.Parallel()
	a, m, _ := newBeside(t)
	signedUp(t, a)
	putLink(t, a, "l")
	m.after = crash
	p := proof()
	if _, _, err := a.ProveEmail(t.Context(), p); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	checkSession(t, a, "s", false)
	if _, err := a.TakeToken(t.Context(), "ann@example.com", "l"); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("the link is left: %v", err)
	}
}
