package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/adaptertest"
)

// A main is a main store that can fail before or after a step, and call a function in
// between.
type main struct {
	adapter.Adapter
	before, after func() error
	reading, read func() error // called once, before and after a user is read
	rename        bool         // the store assigns its own user ids
}

func (m *main) GetUser(ctx context.Context, id string) (u adapter.User, err error) {
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

func (m *main) SignUp(ctx context.Context, u adapter.User, a *adapter.Account, s *adapter.SessionRecord, locale string, r *adapter.Revocation) (got adapter.User, err error) {
	if m.rename {
		u.ID = "main-" + u.ID
	}
	err = m.step(func() error {
		got, err = m.Adapter.SignUp(ctx, u, a, s, locale, r)
		return err
	})
	return got, err
}

func (m *main) ProveEmail(ctx context.Context, p adapter.Proof) (u adapter.User, removed []adapter.Account, err error) {
	err = m.step(func() error {
		u, removed, err = m.Adapter.ProveEmail(ctx, p)
		return err
	})
	return u, removed, err
}

func (m *main) DeleteUser(ctx context.Context, id string, r *adapter.Revocation) error {
	return m.step(func() error { return m.Adapter.DeleteUser(ctx, id, r) })
}

func (m *main) EndSessions(ctx context.Context, userID string, r *adapter.Revocation) (n int, err error) {
	err = m.step(func() error {
		n, err = m.Adapter.EndSessions(ctx, userID, r)
		return err
	})
	return n, err
}

var errCrash = errors.New("the test pulled the plug")

func crash() error { return errCrash }

// newBeside returns an adapter over a main store and a Redis, and both stores.
func newBeside(t *testing.T) (adapter.Adapter, *main, *Store) {
	t.Helper()
	m, s := &main{Adapter: memory.New()}, open(t, miniURL(t), newPrefix())
	return Beside(m, s), m, s
}

func rec(id, user string) adapter.SessionRecord {
	return adapter.SessionRecord{ID: id, SessionToken: id, Digest: id, UserID: user, Expires: time.Now().Add(time.Hour)}
}

// signedUp stores a user u with an address, an account and a session s.
func signedUp(t *testing.T, a adapter.Adapter) {
	t.Helper()
	acc := adapter.Account{ID: "a", Type: "oauth", Provider: "p", ProviderAccountID: "1"}
	s := rec("s", "")
	if _, err := a.SignUp(t.Context(), adapter.User{ID: "u", Email: "ann@example.com"}, &acc, &s, "", nil); err != nil {
		t.Fatal(err)
	}
}

func checkSession(t *testing.T, a adapter.Adapter, token string, want bool) {
	t.Helper()
	_, _, err := a.GetSession(t.Context(), token, token)
	if want && err != nil || !want && !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("session %s: %v, want it there: %v", token, err, want)
	}
}

// TestBesideSignUpBroken checks that an interrupted sign-up leaves no valid session
// without a user, and that retrying succeeds.
func TestBesideSignUpBroken(t *testing.T) {
	t.Parallel()
	a, m, s := newBeside(t)
	m.before = crash
	first := rec("s", "")
	if _, err := a.SignUp(t.Context(), adapter.User{ID: "u"}, nil, &first, "", nil); !errors.Is(err, errCrash) || first.UserID != "" {
		t.Errorf("got %v, %v", first, err)
	}
	if list, err := s.ListSessions(t.Context(), "u"); err != nil || len(list) != 0 {
		t.Errorf("sessions left: %v, %v", list, err)
	}
	// Simulate a process that died between the two steps.
	if _, err := s.createSession(t.Context(), rec("orphan", "u"), true); err != nil {
		t.Fatal(err)
	}
	checkSession(t, a, "orphan", false)
	m.before = nil
	signedUp(t, a)
	checkSession(t, a, "s", true)
}

func TestBesideMainNamesUsers(t *testing.T) {
	t.Parallel()
	a, m, _ := newBeside(t)
	m.rename = true
	s := rec("s", "")
	u, err := a.SignUp(t.Context(), adapter.User{ID: "u"}, nil, &s, "", nil)
	if err != nil || u.ID != "main-u" || s.UserID != "main-u" {
		t.Fatalf("%v, %v, %v", u, s, err)
	}
	checkSession(t, a, "s", true)
	if n, err := a.EndSessions(t.Context(), "main-u", endSessionsOf("main-u")); n != 1 || err != nil {
		t.Errorf("ended %d, %v", n, err)
	}
}

// TestBesideDeleteBroken checks that a user is deleted once main has done its step, and
// that repeating the call finishes the work after a crash.
func TestBesideDeleteBroken(t *testing.T) {
	t.Parallel()
	a, m, s := newBeside(t)
	signedUp(t, a)
	m.before = crash
	if err := a.DeleteUser(t.Context(), "u", endSessionsOf("u")); !errors.Is(err, errCrash) {
		t.Error(err)
	}
	checkSession(t, a, "s", true) // nothing happened
	m.before, m.after = nil, crash
	if err := a.DeleteUser(t.Context(), "u", endSessionsOf("u")); !errors.Is(err, errCrash) {
		t.Error(err)
	}
	checkSession(t, a, "s", false) // though it is still in Redis
	m.after = nil
	if err := a.DeleteUser(t.Context(), "u", endSessionsOf("u")); !errors.Is(err, adapter.ErrNotFound) {
		t.Error(err)
	}
	if list, err := s.ListSessions(t.Context(), "u"); err != nil || len(list) != 0 {
		t.Errorf("sessions left: %v, %v", list, err)
	}
}

// TestBesideDeleteRace checks that a session created while its user is being deleted
// does not remain in Redis.
func TestBesideDeleteRace(t *testing.T) {
	t.Parallel()
	for range 10 {
		a, _, s := newBeside(t)
		signedUp(t, a)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				_, err := a.CreateSession(t.Context(), rec(fmt.Sprint(i), "u"))
				if err != nil && !errors.Is(err, adapter.ErrNotFound) {
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			if err := a.DeleteUser(t.Context(), "u", endSessionsOf("u")); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
		if list, err := s.ListSessions(t.Context(), "u"); err != nil || len(list) != 0 {
			t.Errorf("sessions left: %v, %v", list, err)
		}
	}
}

// TestBesideSweep checks that the limit applies to both stores together, and that older
// records in main are swept too.
func TestBesideSweep(t *testing.T) {
	t.Parallel()
	a, m, s := newBeside(t)
	now := time.Now()
	for i := range 3 {
		for _, store := range []adapter.Adapter{m, s} {
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
	a, m, s := newBeside(t)
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

type broken struct{ adapter.Adapter }

func (broken) Ping(context.Context) error { return errCrash }

// TestBesideRedisLost checks that losing the Redis of session.store revives neither a
// stored session nor a revoked token.
func TestBesideRedisLost(t *testing.T) {
	t.Parallel()
	a, _, s := newBeside(t)
	signedUp(t, a)
	sid := &adapter.Revocation{Key: "sid:1", NotBefore: time.Now(), Expires: time.Now().Add(time.Hour)}
	if err := a.Revoke(t.Context(), sid); err != nil {
		t.Fatal(err)
	}
	if _, err := a.EndSessions(t.Context(), "u", endSessionsOf("u")); err != nil {
		t.Fatal(err)
	}
	if err := s.client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	checkSession(t, a, "s", false)
	list, _ := wholeLog(t, a, 0)
	if len(list) != 2 || list[0].Key != "sid:1" || list[1].Key != "user:u" {
		t.Errorf("revocations %v", list)
	}
	checkSignIn(t, a)
}

// TestBesideClock checks that main's clock is used, if it has one.
func TestBesideClock(t *testing.T) {
	t.Parallel()
	whole := open(t, miniURL(t), newPrefix())
	for _, c := range []struct {
		main         adapter.Adapter
		clock, audit bool
	}{
		{memory.New(), false, true},
		{whole, true, true},
		{struct{ adapter.Adapter }{memory.New()}, false, false},
		{struct {
			adapter.Adapter
			adapter.Clock
		}{memory.New(), whole}, true, false},
	} {
		a := Beside(c.main, whole)
		_, clock := a.(adapter.Clock)
		_, audit := a.(authsvc.AuditLog)
		if clock != c.clock || audit != c.audit {
			t.Errorf("%T: clock %v, audit %v", c.main, clock, audit)
		}
	}
}

// TestBesideUserColumns checks that users come from main, with the columns that it
// reads.
func TestBesideUserColumns(t *testing.T) {
	t.Parallel()
	m := memory.New("role")
	adaptertest.RunColumns(t, adaptertest.Columns{Adapter: Beside(m, open(t, miniURL(t), newPrefix())), Want: map[string]any{"role": "admin"},
		Set: func(t *testing.T, userID string) {
			t.Helper()
			if err := m.SetExtra(t.Context(), userID, map[string]any{"role": "admin"}); err != nil {
				t.Error(err)
			}
		}})
}
