package redis

import (
	"errors"
	"testing"
	"time"

	"authsvc"
)

// proof is a first proof of the address of signedUp.
func proof() authsvc.Proof {
	return authsvc.Proof{UserID: "u", Email: "ann@example.com", At: time.Now(), Revoke: about("u")}
}

// endings are the steps that end all sessions of u.
func endings(t *testing.T, a authsvc.Adapter) map[string]func() error {
	return map[string]func() error{
		"ProveEmail":  func() error { _, _, err := a.ProveEmail(t.Context(), proof()); return err },
		"EndSessions": func() error { _, err := a.EndSessions(t.Context(), "u", about("u")); return err },
		"DeleteUser":  func() error { return a.DeleteUser(t.Context(), "u", about("u")) },
	}
}

// eachEnding runs a test for every step that ends all sessions.
func eachEnding(t *testing.T, test func(t *testing.T, a authsvc.Adapter, m *main, s *Store, end func() error)) {
	for _, name := range []string{"ProveEmail", "EndSessions", "DeleteUser"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, m, s := together(t)
			signedUp(t, a)
			test(t, a, m, s, endings(t, a)[name])
		})
	}
}

// A sign-in that noted the epoch before a step that ends all sessions has no
// session after it, wherever the two overlap.
func TestBesideOvertaken(t *testing.T) {
	t.Parallel()
	for name, overlap := range map[string]func(m *main, end, signIn func() error) error{
		// The sign-in comes as a whole, right before or right after the step in main.
		"before main": func(m *main, end, signIn func() error) error { m.before = signIn; return end() },
		"after main":  func(m *main, end, signIn func() error) error { m.after = signIn; return end() },
		// The end comes as a whole, while the session is stored and main is not asked yet.
		"session stored": func(m *main, end, signIn func() error) error { m.reading = end; return signIn() },
		// And when main has answered that the epoch is still the same.
		"epoch compared": func(m *main, end, signIn func() error) error { m.read = end; return signIn() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachEnding(t, func(t *testing.T, a authsvc.Adapter, m *main, s *Store, end func() error) {
				signIn := func() error {
					_, err := a.CreateSession(t.Context(), rec("attacker", "u"))
					if errors.Is(err, authsvc.ErrStale) || errors.Is(err, authsvc.ErrNotFound) {
						return nil
					}
					return err
				}
				if err := overlap(m, end, signIn); err != nil {
					t.Fatal(err)
				}
				for _, token := range []string{"s", "attacker"} {
					signedIn(t, a, token, false)
				}
				if list, err := s.ListSessions(t.Context(), "u"); err != nil || len(list) != 0 {
					t.Errorf("left in Redis: %v, %v", list, err)
				}
				m.before, m.after, m.reading, m.read = nil, nil, nil, nil
				comesBack(t, a)
			})
		})
	}
}

// comesBack checks that u, if there is one, can sign in at its epoch.
func comesBack(t *testing.T, a authsvc.Adapter) {
	t.Helper()
	u, err := a.GetUser(t.Context(), "u")
	if errors.Is(err, authsvc.ErrNotFound) {
		return
	}
	late := rec("late", "u")
	if _, stale := a.CreateSession(t.Context(), late); err != nil || !errors.Is(stale, authsvc.ErrStale) {
		t.Errorf("%v, at the old epoch %v", err, stale)
	}
	late.Epoch = u.Epoch
	if _, err := a.CreateSession(t.Context(), late); err != nil {
		t.Error(err)
	}
	signedIn(t, a, "late", true)
	if list, err := a.ListSessions(t.Context(), "u"); err != nil || len(list) != 1 {
		t.Errorf("sessions %v, %v", list, err)
	}
}

// When Redis is gone just after main took the step, or the process dies, the
// sessions that are left in Redis do not count, and repeating removes them.
func TestBesideEndsInMain(t *testing.T) {
	t.Parallel()
	eachEnding(t, func(t *testing.T, a authsvc.Adapter, m *main, s *Store, end func() error) {
		m.after = crash
		if err := end(); !errors.Is(err, errCrash) {
			t.Fatal(err)
		}
		if list, err := s.ListSessions(t.Context(), "u"); err != nil || len(list) != 1 {
			t.Fatalf("in Redis: %v, %v", list, err)
		}
		signedIn(t, a, "s", false)
		if list, err := a.ListSessions(t.Context(), "u"); err != nil || len(list) != 0 {
			t.Errorf("sessions %v, %v", list, err)
		}
		m.after = nil
		if n, err := a.EndSessions(t.Context(), "u", about("u")); n != 1 || err != nil {
			t.Errorf("ended %d, %v", n, err)
		}
	})
}

// The clean-up in Redis leaves a session alone that began after the step.
func TestBesideEndsOnlyOlder(t *testing.T) {
	t.Parallel()
	a, m, _ := together(t)
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
	if n, err := a.EndSessions(t.Context(), "u", about("u")); n != 1 || err != nil {
		t.Fatalf("ended %d, %v", n, err)
	}
	signedIn(t, a, "s", false)
	signedIn(t, a, "next", true)
}

// A sign-up is undone by what comes after it, also when main gives the id.
func TestBesideSignUpOvertaken(t *testing.T) {
	t.Parallel()
	for _, rename := range []bool{false, true} {
		a, m, _ := together(t)
		m.rename = rename
		m.after = func() error {
			m.after = nil
			u, err := m.Adapter.GetUserByEmail(t.Context(), "ann@example.com")
			if err != nil {
				return err
			}
			p := proof()
			p.UserID, p.Revoke = u.ID, about(u.ID)
			_, _, err = a.ProveEmail(t.Context(), p)
			return err
		}
		signedUp(t, a)
		signedIn(t, a, "s", false)
	}
}
