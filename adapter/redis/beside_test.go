package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
)

// A main is a store of users that can be made to fail, before or after a
// step, and to run something in between.
type main struct {
	authsvc.Adapter
	before, after func() error
	reading, read func() error // around a look at a user, once
	rename        bool         // users get ids of its own
}

func (m *main) GetUser(ctx context.Context, id string) (u authsvc.User, err error) {
	if f := m.reading; f != nil {
		m.reading = nil
		if err := f(); err != nil {
			return u, err
		}
	}
	u, err = m.Adapter.GetUser(ctx, id)
	if f := m.read; f != nil && err == nil {
		m.read = nil
		err = f()
	}
	return u, err
}

func (m *main) step(f func() error) error {
	for _, f := range []func() error{m.before, f, m.after} {
		if f != nil {
			if err := f(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *main) SignUp(ctx context.Context, u authsvc.User, a *authsvc.Account, s *authsvc.SessionRecord) (got authsvc.User, err error) {
	if m.rename {
		u.ID = "main-" + u.ID
	}
	err = m.step(func() error {
		got, err = m.Adapter.SignUp(ctx, u, a, s)
		return err
	})
	return got, err
}

func (m *main) ProveEmail(ctx context.Context, p authsvc.Proof) (u authsvc.User, removed []authsvc.Account, err error) {
	err = m.step(func() error {
		u, removed, err = m.Adapter.ProveEmail(ctx, p)
		return err
	})
	return u, removed, err
}

func (m *main) DeleteUser(ctx context.Context, id string, r *authsvc.Revocation) error {
	return m.step(func() error { return m.Adapter.DeleteUser(ctx, id, r) })
}

func (m *main) EndSessions(ctx context.Context, userID string, r *authsvc.Revocation) (n int, err error) {
	err = m.step(func() error {
		n, err = m.Adapter.EndSessions(ctx, userID, r)
		return err
	})
	return n, err
}

var errCrash = errors.New("the test pulled the plug")

func crash() error { return errCrash }

// together returns a store over both, and its parts.
func together(t *testing.T) (authsvc.Adapter, *main, *Store) {
	t.Helper()
	m, s := &main{Adapter: memory.New()}, open(t, miniURL(t), newPrefix())
	return Beside(m, s), m, s
}

func rec(id, user string) authsvc.SessionRecord {
	return authsvc.SessionRecord{ID: id, SessionToken: id, Digest: id, UserID: user, Expires: time.Now().Add(time.Hour)}
}

// signedUp stores a user u with an address, an account and a session s.
func signedUp(t *testing.T, a authsvc.Adapter) {
	t.Helper()
	acc := authsvc.Account{ID: "a", Type: "oauth", Provider: "p", ProviderAccountID: "1"}
	s := rec("s", "")
	if _, err := a.SignUp(t.Context(), authsvc.User{ID: "u", Email: "ann@example.com"}, &acc, &s); err != nil {
		t.Fatal(err)
	}
}

func signedIn(t *testing.T, a authsvc.Adapter, token string, want bool) {
	t.Helper()
	_, _, err := a.GetSession(t.Context(), token, token)
	if want && err != nil || !want && !errors.Is(err, authsvc.ErrNotFound) {
		t.Errorf("session %s: %v, want it there: %v", token, err, want)
	}
}

// Wherever a sign-up breaks off, nobody is signed in who is not stored, and
// trying again works.
func TestBesideSignUpBroken(t *testing.T) {
	t.Parallel()
	a, m, s := together(t)
	m.before = crash
	first := rec("s", "")
	if _, err := a.SignUp(t.Context(), authsvc.User{ID: "u"}, nil, &first); !errors.Is(err, errCrash) || first.UserID != "" {
		t.Errorf("got %v, %v", first, err)
	}
	if list, err := s.ListSessions(t.Context(), "u"); err != nil || len(list) != 0 {
		t.Errorf("sessions left: %v, %v", list, err)
	}
	// As if the process had died between the two.
	if _, err := s.createSession(t.Context(), rec("orphan", "u"), true); err != nil {
		t.Fatal(err)
	}
	signedIn(t, a, "orphan", false)
	m.before = nil
	signedUp(t, a)
	signedIn(t, a, "s", true)
}

func TestBesideMainNamesUsers(t *testing.T) {
	t.Parallel()
	a, m, _ := together(t)
	m.rename = true
	s := rec("s", "")
	u, err := a.SignUp(t.Context(), authsvc.User{ID: "u"}, nil, &s)
	if err != nil || u.ID != "main-u" || s.UserID != "main-u" {
		t.Fatalf("%v, %v, %v", u, s, err)
	}
	signedIn(t, a, "s", true)
	if n, err := a.EndSessions(t.Context(), "main-u", about("main-u")); n != 1 || err != nil {
		t.Errorf("ended %d, %v", n, err)
	}
}

// A user is gone when main says so; the next try finishes what a crash left.
func TestBesideDeleteBroken(t *testing.T) {
	t.Parallel()
	a, m, s := together(t)
	signedUp(t, a)
	m.before = crash
	if err := a.DeleteUser(t.Context(), "u", about("u")); !errors.Is(err, errCrash) {
		t.Error(err)
	}
	signedIn(t, a, "s", true) // nothing happened
	m.before, m.after = nil, crash
	if err := a.DeleteUser(t.Context(), "u", about("u")); !errors.Is(err, errCrash) {
		t.Error(err)
	}
	signedIn(t, a, "s", false) // though it is still in Redis
	m.after = nil
	if err := a.DeleteUser(t.Context(), "u", about("u")); !errors.Is(err, authsvc.ErrNotFound) {
		t.Error(err)
	}
	if list, err := s.ListSessions(t.Context(), "u"); err != nil || len(list) != 0 {
		t.Errorf("sessions left: %v, %v", list, err)
	}
}

// A session made while its user is deleted is not left in Redis.
func TestBesideDeleteRace(t *testing.T) {
	t.Parallel()
	for range 10 {
		a, _, s := together(t)
		signedUp(t, a)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				_, err := a.CreateSession(t.Context(), rec(fmt.Sprint(i), "u"))
				if err != nil && !errors.Is(err, authsvc.ErrNotFound) {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			if err := a.DeleteUser(t.Context(), "u", about("u")); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if list, err := s.ListSessions(t.Context(), "u"); err != nil || len(list) != 0 {
			t.Errorf("sessions left: %v, %v", list, err)
		}
	}
}

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

// Another proof than the first ends nothing.
func TestBesideProveAgain(t *testing.T) {
	t.Parallel()
	a, _, _ := together(t)
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
	signedIn(t, a, "own", true)
	if _, err := a.TakeToken(t.Context(), "ann@example.com", "l"); err != nil {
		t.Errorf("the link is gone: %v", err)
	}
}

// A proof that broke off leaves the address unproved, and can be repeated.
func TestBesideProveBroken(t *testing.T) {
	t.Parallel()
	a, m, _ := together(t)
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
	signedIn(t, a, "s", false)
}

// When the process dies right after main took the proof, which nobody will
// repeat, the sessions and links from before it are gone already.
func TestBesideProveDies(t *testing.T) {
	t.Parallel()
	a, m, _ := together(t)
	signedUp(t, a)
	putLink(t, a, "l")
	m.after = crash
	p := proof()
	if _, _, err := a.ProveEmail(t.Context(), p); !errors.Is(err, errCrash) {
		t.Fatal(err)
	}
	signedIn(t, a, "s", false)
	if _, err := a.TakeToken(t.Context(), "ann@example.com", "l"); !errors.Is(err, authsvc.ErrNotFound) {
		t.Errorf("the link is left: %v", err)
	}
}

// One limit holds for both, and what main still has from before is swept.
func TestBesideSweep(t *testing.T) {
	t.Parallel()
	a, m, s := together(t)
	now := time.Now()
	for i := range 3 {
		for _, store := range []authsvc.Adapter{m, s} {
			if err := store.UseOnce(t.Context(), fmt.Sprint(i), now.Add(-time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range [][2]int{{2, 2}, {2, 2}, {10, 2}, {10, 0}} {
		if n, err := a.Sweep(t.Context(), now, c[0]); err != nil || n != c[1] {
			t.Errorf("swept %d, %v, want %d", n, err, c[1])
		}
	}
}

func TestBesidePing(t *testing.T) {
	t.Parallel()
	a, m, s := together(t)
	if err := a.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	m.Adapter = broken{}
	if err := a.Ping(t.Context()); !errors.Is(err, errCrash) {
		t.Errorf("main is down: %v", err)
	}
	m.Adapter = memory.New()
	s.Close()
	if err := a.Ping(t.Context()); err == nil {
		t.Error("Redis is down, and Ping does not know")
	}
}

type broken struct{ authsvc.Adapter }

func (broken) Ping(context.Context) error { return errCrash }
