package redis

import (
	"errors"
	"slices"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/adaptertest"
)

// TestBesideTakeToken checks that a link comes with the user of main, and that main is
// not asked about a link that is not valid: the time taken would reveal whether it has
// the user.
func TestBesideTakeToken(t *testing.T) {
	t.Parallel()
	m, s := adaptertest.Faulty(memory.New()), open(t, miniURL(t), newPrefix())
	a := Beside(m, s)
	signedUp(t, a)
	putLink(t, s, "l")
	take := func(token string, asked ...string) (adapter.VerificationToken, adapter.User, error) {
		t.Helper()
		m.FailBefore(0)
		link, u, err := a.TakeToken(t.Context(), "ann@example.com", token, time.Now())
		if got := m.Calls(); !slices.Equal(got, asked) {
			t.Errorf("%s: main was asked %v, want %v", token, got, asked)
		}
		return link, u, err
	}
	if _, u, err := take("unknown"); !errors.Is(err, adapter.ErrNotFound) || u.ID != "" {
		t.Errorf("unknown: got %+v, %v", u, err)
	}
	if link, u, err := take("l", "GetUserByEmail"); err != nil || link.Token != "l" || u.ID != "u" {
		t.Errorf("got %+v with %+v, %v", link, u, err)
	}
	putLink(t, s, "l")
	m.FailAll("GetUserByEmail")
	if link, _, err := a.TakeToken(t.Context(), "ann@example.com", "l", time.Now()); !errors.Is(err, adaptertest.ErrFault) || link.Token != "" {
		t.Errorf("main is away: got %+v, %v", link, err)
	}
}

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
	if _, _, err := a.TakeToken(t.Context(), "ann@example.com", "l", time.Now()); err != nil {
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
	if _, _, err := a.TakeToken(t.Context(), "ann@example.com", "l", time.Now()); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("the link is left: %v", err)
	}
}
