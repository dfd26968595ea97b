package engine_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
)

// An overlap is a sign-in of a person who registered another person's address before
// its owner came. At another replica, an action revokes this access before the n-th
// call that the sign-in makes to the store.
type overlap struct {
	store   *arena.Ledger
	attack  *arena.World // the replica of the sign-in
	owner   *arena.World // the other one
	squat   *arena.Browser
	address string
	user    string
}

func newOverlap(t *testing.T, store adapter.Adapter, strategy string) *overlap {
	t.Helper()
	o := &overlap{store: arena.NewLedger(store)}
	o.attack = arena.Start(t, func(c *authsvc.Config) {
		c.Adapter, c.Session.Strategy, c.RateLimit.Disabled = o.store, authsvc.Strategy(strategy), true
	})
	o.owner = arena.Start(t, func(c *authsvc.Config) {
		c.Adapter, c.Providers, c.Session.Strategy, c.RateLimit.Disabled = store, o.attack.Config.Providers, authsvc.Strategy(strategy), true
	})
	o.squat = o.attack.Browser()
	o.squat.SignIn(o.attack.OP, "alan")
	o.address, o.user = o.squat.Email(), o.attack.Person(t, o.squat)
	return o
}

// attacks are the actions in progress in the squatter's browser. Each returns the
// browser in which it ends.
var attacks = map[string]func(*overlap) func() *arena.Browser{
	"sign-in": func(o *overlap) func() *arena.Browser {
		b := o.attack.Browser()
		back := b.Approve(o.attack.OP, b.Begin("op"), "alan")
		return func() *arena.Browser { b.Get(back); return b }
	},
	"link": func(o *overlap) func() *arena.Browser {
		back := o.squat.Approve(o.attack.OP, o.squat.Begin("op", "link", "true"), "grace")
		return func() *arena.Browser { o.squat.Get(back); return o.squat }
	},
}

// countermeasures revoke access and say what may remain of an attack.
var countermeasures = map[string]struct {
	act func(t *testing.T, o *overlap)
	// session: the squatter may be signed in; identity: the squatter's identities may
	// exist
	session, identity map[string]bool // by attack
}{
	"first proof": {act: func(t *testing.T, o *overlap) {
		b := o.owner.Browser()
		b.Post("/api/auth/signin/email", "email", o.address)
		b.Get(arena.Link(t, o.attack.Mail.Next(t)))
		if b.Email() != o.address {
			t.Errorf("the owner is not in: %q\n%s", b.Email(), o.owner.Logs)
		}
	}},
	"EndSessions": {act: func(t *testing.T, o *overlap) {
		if err := o.owner.EndSessions(t.Context(), o.user); err != nil {
			t.Error(err)
		}
	}, session: map[string]bool{"sign-in": true}, identity: map[string]bool{"sign-in": true, "link": true}},
	"ScheduleDeletion": {act: func(t *testing.T, o *overlap) {
		if _, err := o.owner.ScheduleDeletion(t.Context(), o.user); err != nil {
			t.Error(err)
		}
	}, identity: map[string]bool{"sign-in": true, "link": true}},
	"DeleteUser": {act: func(t *testing.T, o *overlap) {
		if err := o.owner.DeleteUser(t.Context(), o.user); err != nil {
			t.Error(err)
		}
	}},
}

// TestSignInDuringRevocation checks revocations during a sign-in: the owner proves the
// address, the user's sessions are ended or the user is deleted. At whatever moment
// this happens, no earlier session gives access afterwards, nor does an identity that a
// first proof removes.
func TestSignInDuringRevocation(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		for attack := range attacks {
			for measure := range countermeasures {
				t.Run(strategy+"/"+attack+"/"+measure, func(t *testing.T) {
					t.Parallel()
					n := 1
					for ; overtake(t, strategy, attack, measure, n); n++ {
					}
					if n < 5 {
						t.Errorf("only %d calls were overtaken", n)
					}
				})
			}
		}
	}
}

// before runs act before the n-th call that run makes to the store. It returns the
// calls, and whether there was an n-th.
func (o *overlap) before(n int, act, run func()) (calls []string, done bool) {
	o.store.BreakAt(func(i int, method string) arena.Failure {
		calls = append(calls, method)
		if i == n {
			done = true
			act()
		}
		return arena.Works
	})
	run()
	o.store.BreakAt(nil)
	return calls, done
}

// overtake reports whether there was an n-th call.
func overtake(t *testing.T, strategy, attack, measure string, n int) bool {
	t.Helper()
	o := newOverlap(t, memory.New(), strategy)
	run, c := attacks[attack](o), countermeasures[measure]
	var b *arena.Browser
	during, done := o.before(n, func() { c.act(t, o) }, func() { b = run() })
	if !done {
		return false
	}
	in := o.owner.Person(t, b) == o.user
	list, err := o.owner.Store.ListAccounts(t.Context(), o.user)
	if err != nil {
		t.Fatal(err)
	}
	if in && !c.session[attack] || len(list) > 0 && !c.identity[attack] {
		t.Errorf("before call %d (%v): signed in %v, %d identities\n%s", n, during, in, len(list), o.attack.Logs)
	}
	// If a link remains, it must have been written before its session ended.
	linked := slices.ContainsFunc(list, func(a authsvc.Account) bool { return a.ProviderAccountID == "grace" })
	if linked && !slices.Contains(during[:n-1], "LinkAccount") {
		t.Errorf("before call %d (%v): linked by a session that had ended", n, during)
	}
	return true
}

// TestFirstProofDuringBlock checks that a user whose first proof has passed the SignIn
// callback, and who is then blocked, is not signed in, at whatever moment that happens.
func TestFirstProofDuringBlock(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			n := 1
			for ; blocked(t, strategy, n); n++ {
			}
			if n < 4 {
				t.Errorf("only %d calls were overtaken", n)
			}
		})
	}
}

func blocked(t *testing.T, strategy string, n int) bool {
	t.Helper()
	o := newOverlap(t, memory.New(), strategy)
	var blocked atomic.Bool
	replica := arena.Start(t, func(c *authsvc.Config) {
		c.Adapter, c.Session.Strategy, c.RateLimit.Disabled = o.store, authsvc.Strategy(strategy), true
		c.Providers = o.attack.Config.Providers
		c.Callbacks.SignIn = func(_ context.Context, a authsvc.SignInAttempt) (string, error) {
			if a.User.ID == o.user && blocked.Load() {
				return "", authsvc.ErrAccessDenied
			}
			return "", nil
		}
	})
	b := replica.Browser()
	b.Post("/api/auth/signin/email", "email", o.address)
	link := arena.Link(t, o.attack.Mail.Next(t))
	during, done := o.before(n, func() {
		blocked.Store(true)
		countermeasures["EndSessions"].act(t, o)
	}, func() { b.Get(link) })
	if in := o.owner.Person(t, b) == o.user; in == done {
		t.Errorf("blocked before call %d (%v): signed in %v\n%s", n, during, in, replica.Logs)
	}
	return done
}

// TestFirstProofDuringEndSessions checks an owner whose own first proof overlaps the
// end of all sessions. The sign-in ends with a live session, unless the session was
// stored before they ended.
func TestFirstProofDuringEndSessions(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			n := 1
			for ; ownerOvertaken(t, strategy, n); n++ {
			}
			if n < 4 {
				t.Errorf("only %d calls were overtaken", n)
			}
		})
	}
}

func ownerOvertaken(t *testing.T, strategy string, n int) bool {
	t.Helper()
	o := newOverlap(t, memory.New(), strategy)
	b := o.attack.Browser()
	b.Post("/api/auth/signin/email", "email", o.address)
	link := arena.Link(t, o.attack.Mail.Next(t))
	during, done := o.before(n, func() { countermeasures["EndSessions"].act(t, o) }, func() { b.Get(link) })
	if done && o.owner.Person(t, b) != o.user && !slices.Contains(during[:n-1], "CreateSession") {
		t.Errorf("before call %d (%v): the owner is out\n%s", n, during, o.attack.Logs)
	}
	return done
}

// TestLinkDuringChange checks a sign-in by a link during which a user with its address
// is stored or deleted. The link is used up, so at whatever moment this happens, the
// sign-in must find the user who is stored then.
func TestLinkDuringChange(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"database", "jwt"} {
		for _, change := range []string{"stored", "deleted"} {
			t.Run(strategy+"/"+change, func(t *testing.T) {
				t.Parallel()
				n := 1
				for ; linkOvertaken(t, strategy, change == "stored", n); n++ {
				}
				if n < 3 {
					t.Errorf("only %d calls were overtaken", n)
				}
			})
		}
	}
}

func linkOvertaken(t *testing.T, strategy string, stored bool, n int) bool {
	t.Helper()
	o := newOverlap(t, memory.New(), strategy)
	u := authsvc.User{ID: "ada", Email: "ada@example.com", EmailVerified: time.Now()}
	store := func() error {
		_, err := o.owner.Store.SignUp(t.Context(), u, nil, nil, "", nil)
		return err
	}
	if !stored {
		if err := store(); err != nil {
			t.Fatal(err)
		}
	}
	b := o.attack.Browser()
	b.Post("/api/auth/signin/email", "email", u.Email)
	link := arena.Link(t, o.attack.Mail.Next(t))
	during, done := o.before(n, func() {
		if !stored {
			if err := o.owner.DeleteUser(t.Context(), u.ID); err != nil {
				t.Error(err)
			}
		} else if err := store(); err != nil && !errors.Is(err, adapter.ErrConflict) {
			t.Error(err)
		}
	}, func() { b.Get(link) })
	in := o.owner.Person(t, b)
	now, err := o.owner.Store.GetUserByEmail(t.Context(), u.Email)
	switch {
	case errors.Is(err, adapter.ErrNotFound) && !stored: // deleted after the sign-in
		if in != "" {
			t.Errorf("deleted before call %d (%v): signed in as %q\n%s", n, during, in, o.attack.Logs)
		}
	case err != nil || in != now.ID:
		t.Errorf("before call %d (%v): signed in as %q, want %q, %v\n%s", n, during, in, now.ID, err, o.attack.Logs)
	}
	return done
}

// TestUnstoredSignInDuringEndSessions checks sign-ins of a user who is not stored, by
// credentials. If the user's sessions are ended during the sign-in, the sign-in starts
// over, so its session is not one of those that ended.
func TestUnstoredSignInDuringEndSessions(t *testing.T) {
	t.Parallel()
	const user = "ada-id"
	for n := 1; ; n++ {
		inner, asked := memory.New(), 0
		store := arena.NewLedger(inner)
		world := func(a adapter.Adapter) *arena.World {
			return arena.Start(t, func(c *authsvc.Config) {
				c.Adapter, c.Session.Strategy, c.RateLimit.Disabled = a, authsvc.StrategyJWT, true
				c.Providers = []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize}}
				c.Callbacks.SignIn = func(context.Context, authsvc.SignInAttempt) (string, error) { asked++; return "", nil }
			})
		}
		o := &overlap{store: store, attack: world(store), owner: world(inner)}
		b := o.attack.Browser()
		b.CSRF()
		calls, done := o.before(n, func() {
			if err := o.owner.EndSessions(t.Context(), user); err != nil {
				t.Error(err)
			}
		}, func() { b.Login("ada") })
		if !done {
			if n < 3 {
				t.Errorf("only %d calls: %v", n-1, calls)
			}
			return
		}
		if got := o.owner.Person(t, b); got != user {
			t.Errorf("before call %d of %v: the person is %q", n, calls, got)
		}
		if again := n == 3; again != (asked == 2) {
			t.Errorf("before call %d of %v: the callback was asked %d times", n, calls, asked)
		}
	}
}
