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
	rename        bool // users get ids of its own
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

func (m *main) DeleteUser(ctx context.Context, id string) error {
	return m.step(func() error { return m.Adapter.DeleteUser(ctx, id) })
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
	if n, err := a.EndSessions(t.Context(), "main-u", nil); n != 1 || err != nil {
		t.Errorf("ended %d, %v", n, err)
	}
}

// A user is gone when main says so; the next try finishes what a crash left.
func TestBesideDeleteBroken(t *testing.T) {
	t.Parallel()
	a, m, s := together(t)
	signedUp(t, a)
	m.before = crash
	if err := a.DeleteUser(t.Context(), "u"); !errors.Is(err, errCrash) {
		t.Error(err)
	}
	signedIn(t, a, "s", true) // nothing happened
	m.before, m.after = nil, crash
	if err := a.DeleteUser(t.Context(), "u"); !errors.Is(err, errCrash) {
		t.Error(err)
	}
	signedIn(t, a, "s", false) // though it is still in Redis
	m.after = nil
	if err := a.DeleteUser(t.Context(), "u"); !errors.Is(err, authsvc.ErrNotFound) {
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
			if err := a.DeleteUser(t.Context(), "u"); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if list, err := s.ListSessions(t.Context(), "u"); err != nil || len(list) != 0 {
			t.Errorf("sessions left: %v, %v", list, err)
		}
	}
}

// A session that slips in while an address is proved is gone afterwards.
func TestBesideProveRace(t *testing.T) {
	t.Parallel()
	a, m, _ := together(t)
	signedUp(t, a)
	slip := func(token string) func() error {
		return func() error {
			_, err := a.CreateSession(t.Context(), rec(token, "u"))
			return err
		}
	}
	m.before, m.after = slip("before"), slip("after")
	revocation := authsvc.Revocation{Key: "u", NotBefore: time.Now(), Written: time.Now(), Expires: time.Now().Add(time.Hour)}
	p := authsvc.Proof{UserID: "u", Email: "ann@example.com", At: time.Now(), Revoke: &revocation}
	if _, removed, err := a.ProveEmail(t.Context(), p); err != nil || len(removed) != 1 {
		t.Fatalf("%v, %v", removed, err)
	}
	for _, token := range []string{"s", "before", "after"} {
		signedIn(t, a, token, false)
	}
	if list, err := a.Revocations(t.Context(), time.Time{}); err != nil || len(list) != 1 {
		t.Errorf("revocations %v, %v", list, err)
	}
	m.before, m.after = nil, nil
	if _, err := a.CreateSession(t.Context(), rec("own", "u")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.ProveEmail(t.Context(), p); err != nil { // not the first
		t.Fatal(err)
	}
	signedIn(t, a, "own", true)
}

// A proof that broke off leaves the address unproved, and can be repeated.
func TestBesideProveBroken(t *testing.T) {
	t.Parallel()
	a, m, _ := together(t)
	signedUp(t, a)
	p := authsvc.Proof{UserID: "u", Email: "ann@example.com", At: time.Now()}
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
	p := authsvc.Proof{UserID: "u", Email: "ann@example.com", At: time.Now()}
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
