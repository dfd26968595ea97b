package mongodb

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"authsvc/adapter"
)

// A squatter has registered another person's address. While the owner proves the
// address, or access is revoked in another way, the squatter signs in with its account.
// It also links another identity, using a session stored by NextAuth.js.
type squatter struct {
	shared
	id   string
	user string

	byAccount, bySession bool    // whether the account and the session were valid
	signIn, link         int64   // the epochs read for a sign-in and for a link
	jwt                  []int64 // epochs of the JWT sessions issued
}

func newSquatter(t *testing.T, s shared, id string) *squatter {
	t.Helper()
	linkedUser(t, s, id)
	q := &squatter{shared: s, id: id, user: s.userID(t, id)}
	if err := s.ForeignSession(t.Context(), "foreign "+id, "foreign "+id, q.user, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	return q
}

// readEpochs begins a sign-in and a link: it reads the epochs and checks the conditions
// for both.
func (q *squatter) readEpochs(t *testing.T) {
	u, err := q.GetUserByAccount(t.Context(), "p", q.id)
	q.byAccount, q.signIn = exists[adapter.User](t)(u, err), u.Epoch
	u, err = q.GetUser(t.Context(), q.user)
	if q.bySession, q.link = exists[adapter.User](t)(u, err), u.Epoch; q.bySession {
		_, _, err = q.GetSession(t.Context(), "foreign "+q.id, "foreign digest "+q.id)
		q.bySession = exists[int](t)(0, err)
	}
}

// isStale reports whether a write was refused as stale. It fails the test on other
// errors.
func isStale(t *testing.T, err error) bool {
	t.Helper()
	if err != nil && !errors.Is(err, adapter.ErrStale) && !errors.Is(err, adapter.ErrNotFound) {
		t.Error(err)
	}
	return err != nil
}

// refreshAndLink writes the tokens of the sign-in and the linked account.
func (q *squatter) refreshAndLink(t *testing.T) {
	if q.byAccount {
		acc := testAccount(q.id)
		acc.UserID = q.user
		q.byAccount = !isStale(t, q.RefreshAccount(t.Context(), acc, q.signIn))
	}
	if q.bySession {
		acc := testAccount("late " + q.id)
		acc.UserID = q.user
		_, err := q.LinkAccount(t.Context(), acc, q.link)
		isStale(t, err)
	}
}

// createSessions completes the sign-in with a session of each kind.
func (q *squatter) createSessions(t *testing.T) {
	if !q.byAccount {
		return
	}
	rec := testSession("late " + q.id)
	rec.UserID, rec.Epoch = q.user, q.signIn
	_, err := q.CreateSession(t.Context(), rec)
	isStale(t, err)
	if epoch, err := q.GetEpoch(t.Context(), q.user); err == nil && epoch == q.signIn {
		q.jwt = append(q.jwt, epoch)
	}
}

// signInAgain signs in with the linked identity.
func (q *squatter) signInAgain(t *testing.T) {
	u, err := q.GetUserByAccount(t.Context(), "p", "late "+q.id)
	if !exists[adapter.User](t)(u, err) {
		return
	}
	rec := testSession("later " + q.id)
	rec.UserID, rec.Epoch = q.user, u.Epoch
	_, err = q.CreateSession(t.Context(), rec)
	if !isStale(t, err) {
		q.jwt = append(q.jwt, u.Epoch)
	}
}

// checkGone checks that the store has no account or session of the squatter, not even
// for NextAuth.js, which ignores epochs. It also checks that the squatter's JWT
// sessions have ended.
func (q *squatter) checkGone(t *testing.T, r *adapter.Revocation) {
	t.Helper()
	for _, id := range []string{q.id, "late " + q.id} {
		if exists[document](t)(q.first(t.Context(), q.accounts(), q.identity("p", id))) {
			t.Errorf("the account %q is there", id)
		}
	}
	for _, token := range []string{"token " + q.id, "token late " + q.id, "token later " + q.id, "foreign " + q.id} {
		if exists[document](t)(q.first(t.Context(), q.sessions(), q.token(token))) {
			t.Errorf("the session %q is there", token)
		}
	}
	for _, epoch := range q.jwt {
		if epoch >= r.Seq {
			t.Errorf("a session of epoch %d outlives a revocation of %d", epoch, r.Seq)
		}
	}
}

// revokingSteps returns the steps that end all access of a squatter.
func revokingSteps(t *testing.T) map[string]func(q *squatter, r *adapter.Revocation) error {
	return map[string]func(*squatter, *adapter.Revocation) error{
		"ProveEmail": func(q *squatter, r *adapter.Revocation) error { return proveAs(t, q.shared, q.id, r) },
		"DeleteUser": func(q *squatter, r *adapter.Revocation) error { return q.DeleteUser(t.Context(), q.user, r) },
	}
}

// inTurn calls first before the n-th command from now, and each of others wait commands
// after the previous one. The returned function calls the remaining others.
func inTurn(g *faultProxy, n, wait int, first func(), others ...func()) (late func()) {
	todo := others
	var next func()
	next = func() {
		for len(todo) > 0 {
			f := todo[0]
			if wait > 0 {
				g.before(wait, func() { todo = todo[1:]; f(); next() })
				return
			}
			todo = todo[1:]
			f()
		}
	}
	g.before(n, func() { first(); next() })
	return func() {
		g.failNth(0, 0, false)
		for _, f := range todo {
			f()
		}
	}
}

// TestSquatterBetweenCommands checks that everything a squatter reads before some
// command of a revoking step, and writes before that or a later command, is gone
// afterwards.
func TestSquatterBetweenCommands(t *testing.T) {
	t.Parallel()
	server(t)
	for name, takeBack := range revokingSteps(t) {
		for _, wait := range []int{0, 1, 2, 5, 9} {
			t.Run(fmt.Sprintf("%s/%d commands on", name, wait), func(t *testing.T) {
				t.Parallel()
				parallelStores <- struct{}{}
				defer func() { <-parallelStores }()
				s := newShared(t, Options{})
				for n, noted := 1, true; noted; n++ {
					q := newSquatter(t, s, fmt.Sprint("n", n))
					r := endSessionsOf(q.user)
					noted = false
					late := inTurn(s.proxy, n, wait, func() { noted = true; q.readEpochs(t) },
						func() { q.refreshAndLink(t) }, func() { q.createSessions(t) }, func() { q.signInAgain(t) })
					if err := takeBack(q, r); err != nil {
						t.Error(err)
					}
					late()
					if name == "DeleteUser" { // records without references have no effect
						q.checkDeleted(t)
					} else {
						q.checkGone(t, r)
					}
					if t.Failed() {
						t.Fatalf("epochs read before command %d", n)
					}
				}
			})
		}
	}
}

// checkDeleted checks that no record of the deleted user can be used.
func (q *squatter) checkDeleted(t *testing.T) {
	t.Helper()
	r, err := q.first(t.Context(), q.revocations(), by("_id", sessionsKey+q.user))
	if err != nil {
		t.Fatal(err)
	}
	for _, epoch := range q.jwt {
		if epoch >= r.number("seq") {
			t.Errorf("a session of epoch %d outlives a revocation of %d", epoch, r.number("seq"))
		}
	}
	if q.linked(t, q.id) || q.linked(t, "late "+q.id) || q.signedIn(t, q.id) || q.signedIn(t, "late "+q.id) || q.signedIn(t, "later "+q.id) {
		t.Error("something can be used")
	}
}

// TestSquatterOvertaken checks that a proof between two commands of a squatter's
// sign-in leaves the squatter nothing: neither its writes before the proof nor its
// earlier checks count.
func TestSquatterOvertaken(t *testing.T) {
	t.Parallel()
	server(t)
	for _, numbered := range []bool{false, true} {
		t.Run(fmt.Sprintf("numbered %v", numbered), func(t *testing.T) {
			t.Parallel()
			parallelStores <- struct{}{}
			defer func() { <-parallelStores }()
			s := newShared(t, Options{})
			takeBack := revokingSteps(t)["ProveEmail"]
			for n, proved := 1, true; proved; n++ {
				q := newSquatter(t, s, fmt.Sprint("n", n))
				if numbered {
					if err := s.Revoke(t.Context(), &adapter.Revocation{Key: "by:p:" + q.user, UserID: q.user, Expires: time.Now().Add(time.Hour)}); err != nil {
						t.Fatal(err)
					}
				}
				q.readEpochs(t)
				r := endSessionsOf(q.user)
				proved = false
				s.proxy.before(n, func() {
					proved = true
					if err := takeBack(q, r); err != nil {
						t.Error(err)
					}
				})
				q.refreshAndLink(t)
				q.createSessions(t)
				s.proxy.failNth(0, 0, false)
				if proved {
					q.checkGone(t, r)
				}
				if t.Failed() {
					t.Fatalf("proved before command %d", n)
				}
			}
		})
	}
}
