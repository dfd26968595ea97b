package redis

import (
	"errors"
	"testing"
	"time"

	"authsvc/adapter"
)

// proof returns a first proof of the address that signedUp stores.
func proof() adapter.Proof {
	return adapter.Proof{UserID: "u", Email: "ann@example.com", At: time.Now(), Revoke: endSessionsOf("u")}
}

// endings returns the steps that end all sessions of the user u.
func endings(t *testing.T, a adapter.Adapter) map[string]func() error {
	return map[string]func() error{
		"ProveEmail":  func() error { _, _, err := a.ProveEmail(t.Context(), proof()); return err },
		"EndSessions": func() error { _, err := a.EndSessions(t.Context(), "u", endSessionsOf("u")); return err },
		"DeleteUser":  func() error { return a.DeleteUser(t.Context(), "u", endSessionsOf("u")) },
	}
}

// eachEnding runs a test for every step that ends all sessions.
func eachEnding(t *testing.T, test func(t *testing.T, a adapter.Adapter, m *main, s *Store, end func() error)) {
	for _, name := range []string{"ProveEmail", "EndSessions", "DeleteUser"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, m, s := newBeside(t)
			signedUp(t, a)
			test(t, a, m, s, endings(t, a)[name])
		})
	}
}

// TestBesideOvertaken checks that a sign-in that read the epoch before a step that ends
// all sessions has no session afterwards, wherever the two overlap.
func TestBesideOvertaken(t *testing.T) {
	t.Parallel()
	for name, overlap := range map[string]func(m *main, end, signIn func() error) error{
		// The whole sign-in happens right before or right after the step in main.
		"before main": func(m *main, end, signIn func() error) error { m.before = signIn; return end() },
		"after main":  func(m *main, end, signIn func() error) error { m.after = signIn; return end() },
		// The whole step happens after the session is stored, before main is asked.
		"session stored": func(m *main, end, signIn func() error) error { m.reading = end; return signIn() },
		// The whole step happens after main has answered that the epoch is unchanged.
		"epoch compared": func(m *main, end, signIn func() error) error { m.read = end; return signIn() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEnding(t, func(t *testing.T, a adapter.Adapter, m *main, s *Store, end func() error) {
				signIn := func() error {
					_, err := a.CreateSession(t.Context(), rec("attacker", "u"))
					if errors.Is(err, adapter.ErrStale) || errors.Is(err, adapter.ErrNotFound) {
						return nil
					}
					return err
				}
				if err := overlap(m, end, signIn); err != nil {
					t.Fatal(err)
				}
				for _, token := range []string{"s", "attacker"} {
					checkSession(t, a, token, false)
				}
				if list, err := s.ListSessions(t.Context(), "u"); err != nil || len(list) != 0 {
					t.Errorf("left in Redis: %v, %v", list, err)
				}
				m.before, m.after, m.reading, m.read = nil, nil, nil, nil
				checkSignIn(t, a)
			})
		})
	}
}

// checkSignIn checks that u, if it exists, can sign in at its epoch.
func checkSignIn(t *testing.T, a adapter.Adapter) {
	t.Helper()
	u, err := a.GetUser(t.Context(), "u")
	if errors.Is(err, adapter.ErrNotFound) {
		return
	}
	late := rec("late", "u")
	if _, stale := a.CreateSession(t.Context(), late); err != nil || !errors.Is(stale, adapter.ErrStale) {
		t.Errorf("%v, at the old epoch %v", err, stale)
	}
	late.Epoch = u.Epoch
	if _, err := a.CreateSession(t.Context(), late); err != nil {
		t.Error(err)
	}
	checkSession(t, a, "late", true)
	if list, err := a.ListSessions(t.Context(), "u"); err != nil || len(list) != 1 {
		t.Errorf("sessions %v, %v", list, err)
	}
}

// TestBesideEndsInMain checks that, if Redis fails or the process dies right after the
// step in main, the sessions left in Redis are invalid, and that repeating the step
// removes them.
func TestBesideEndsInMain(t *testing.T) {
	t.Parallel()
	eachEnding(t, func(t *testing.T, a adapter.Adapter, m *main, s *Store, end func() error) {
		m.after = crash
		if err := end(); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		if list, err := s.ListSessions(t.Context(), "u"); err != nil || len(list) != 1 {
			t.Fatalf("in Redis: %v, %v", list, err)
		}
		checkSession(t, a, "s", false)
		if list, err := a.ListSessions(t.Context(), "u"); err != nil || len(list) != 0 {
			t.Errorf("sessions %v, %v", list, err)
		}
		m.after = nil
		if n, err := a.EndSessions(t.Context(), "u", endSessionsOf("u")); n != 1 || err != nil {
			t.Errorf("ended %d, %v", n, err)
		}
	})
}

// TestBesideEndsOnlyOlder checks that the clean-up in Redis keeps a session that began
// after the step.
func TestBesideEndsOnlyOlder(t *testing.T) {
	t.Parallel()
	a, m, _ := newBeside(t)
	signedUp(t, a)
	m.after = func() error {
		u, err := m.Adapter.GetUser(t.Context(), "u")
		if err != nil {
			return err
		}
		next := rec("next", "u")
		next.Epoch = u.Epoch
		_, err = a.CreateSession(t.Context(), next)
		return err
	}
	if n, err := a.EndSessions(t.Context(), "u", endSessionsOf("u")); n != 1 || err != nil {
		t.Fatalf("ended %d, %v", n, err)
	}
	checkSession(t, a, "s", false)
	checkSession(t, a, "next", true)
}

// TestBesideSignUpOvertaken checks that a revocation after a sign-up ends its session,
// even if main assigns the id.
func TestBesideSignUpOvertaken(t *testing.T) {
	t.Parallel()
	for _, rename := range []bool{false, true} {
		a, m, _ := newBeside(t)
		m.rename = rename
		m.after = func() error {
			m.after = nil
			u, err := m.Adapter.GetUserByEmail(t.Context(), "ann@example.com")
			if err != nil {
				return err
			}
			p := proof()
			p.UserID, p.Revoke = u.ID, endSessionsOf(u.ID)
			_, _, err = a.ProveEmail(t.Context(), p)
			return err
		}
		signedUp(t, a)
		checkSession(t, a, "s", false)
	}
}
