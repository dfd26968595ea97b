package mongodb

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"authsvc"
)

// A squatter has registered somebody's address, and signs in while it is proved
// or while access is taken back in another way: by the account, and by a session
// that NextAuth.js has stored, to link another identity.
type squatter struct {
	shared
	id   string
	user string

	byAccount, bySession bool // what entitled it, after it had noted the epochs
	signIn, link         int64
	jwt                  []int64 // epochs of JWT sessions that were begun
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

// note is the first half of a sign-in and of a link.
func (q *squatter) note(t *testing.T) {
	u, err := q.GetUserByAccount(t.Context(), "p", q.id)
	q.byAccount, q.signIn = is[authsvc.User](t)(u, err), u.Epoch
	u, err = q.GetUser(t.Context(), q.user)
	if q.bySession, q.link = is[authsvc.User](t)(u, err), u.Epoch; q.bySession {
		_, _, err = q.GetSession(t.Context(), "foreign "+q.id, "foreign digest "+q.id)
		q.bySession = is[int](t)(0, err)
	}
}

// overtaken reports whether a write had nothing to rest on any more.
func overtaken(t *testing.T, err error) bool {
	t.Helper()
	if err != nil && !errors.Is(err, authsvc.ErrStale) && !errors.Is(err, authsvc.ErrNotFound) {
		t.Error(err)
	}
	return err != nil
}

// write is the second half of both, but for the session.
func (q *squatter) write(t *testing.T) {
	if q.byAccount {
		acc := identified(q.id)
		acc.UserID = q.user
		q.byAccount = !overtaken(t, q.RefreshAccount(t.Context(), acc, q.signIn))
	}
	if q.bySession {
		acc := identified("late " + q.id)
		acc.UserID = q.user
		_, err := q.LinkAccount(t.Context(), acc, q.link)
		overtaken(t, err)
	}
}

// begin is the end of the sign-in: one session of each kind.
func (q *squatter) begin(t *testing.T) {
	if !q.byAccount {
		return
	}
	rec := record("late " + q.id)
	rec.UserID, rec.Epoch = q.user, q.signIn
	_, err := q.CreateSession(t.Context(), rec)
	overtaken(t, err)
	if epoch, err := q.GetEpoch(t.Context(), q.user); err == nil && epoch == q.signIn {
		q.jwt = append(q.jwt, epoch)
	}
}

// comeBack is another sign-in, by the identity that was linked.
func (q *squatter) comeBack(t *testing.T) {
	u, err := q.GetUserByAccount(t.Context(), "p", "late "+q.id)
	if !is[authsvc.User](t)(u, err) {
		return
	}
	rec := record("later " + q.id)
	rec.UserID, rec.Epoch = q.user, u.Epoch
	_, err = q.CreateSession(t.Context(), rec)
	if !overtaken(t, err) {
		q.jwt = append(q.jwt, u.Epoch)
	}
}

// gone checks that nothing is left in the store that anybody could use, also
// not NextAuth.js, which knows no epochs, and that the JWT sessions have ended.
func (q *squatter) gone(t *testing.T, r *authsvc.Revocation) {
	t.Helper()
	for _, id := range []string{q.id, "late " + q.id} {
		if is[document](t)(q.first(t.Context(), q.accounts(), q.identity("p", id))) {
			t.Errorf("the account %q is there", id)
		}
	}
	for _, token := range []string{"token " + q.id, "token late " + q.id, "token later " + q.id, "foreign " + q.id} {
		if is[document](t)(q.first(t.Context(), q.sessions(), q.token(token))) {
			t.Errorf("the session %q is there", token)
		}
	}
	for _, epoch := range q.jwt {
		if epoch >= r.Seq {
			t.Errorf("a session of epoch %d outlives a revocation of %d", epoch, r.Seq)
		}
	}
}

// takingsBack are the ways that leave a squatter nothing.
func takingsBack(t *testing.T) map[string]func(q *squatter, r *authsvc.Revocation) error {
	return map[string]func(*squatter, *authsvc.Revocation) error{
		"ProveEmail": func(q *squatter, r *authsvc.Revocation) error { return proveAs(t, q.shared, q.id, r) },
		"DeleteUser": func(q *squatter, r *authsvc.Revocation) error { return q.DeleteUser(t.Context(), q.user, r) },
	}
}

// inTurn has one thing after the other done, the first before the n-th command
// from now and each other one wait commands later. late does those whose turn
// did not come, but not the first.
func inTurn(g *gate, n, wait int, first func(), others ...func()) (late func()) {
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
		g.spoil(0, 0, false)
		for _, f := range todo {
			f()
		}
	}
}

// Whatever a squatter notes before some command of what takes access back, and
// writes before the same or a later one, is gone afterwards.
func TestSquatterBetweenCommands(t *testing.T) {
	t.Parallel()
	server(t)
	for name, takeBack := range takingsBack(t) {
		for _, wait := range []int{0, 1, 2, 5, 9} {
			t.Run(fmt.Sprintf("%s/%d commands on", name, wait), func(t *testing.T) {
				t.Parallel()
				few <- struct{}{}
				defer func() { <-few }()
				s := newShared(t, Options{})
				for n, noted := 1, true; noted; n++ {
					q := newSquatter(t, s, fmt.Sprint("n", n))
					r := ending(q.user)
					noted = false
					late := inTurn(s.gate, n, wait, func() { noted = true; q.note(t) },
						func() { q.write(t) }, func() { q.begin(t) }, func() { q.comeBack(t) })
					if err := takeBack(q, r); err != nil {
						t.Error(err)
					}
					late()
					if name == "DeleteUser" { // what nobody refers to means nothing
						q.left(t)
					} else {
						q.gone(t, r)
					}
					if t.Failed() {
						t.Fatalf("noted before command %d", n)
					}
				}
			})
		}
	}
}

// left checks that nothing of a user who is gone can be used.
func (q *squatter) left(t *testing.T) {
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

// An address that is proved between two commands of a squatter's sign-in leaves
// it nothing either: neither what was inserted and not looked at again, nor what
// was looked at before.
func TestSquatterOvertaken(t *testing.T) {
	t.Parallel()
	server(t)
	for _, numbered := range []bool{false, true} {
		t.Run(fmt.Sprintf("numbered %v", numbered), func(t *testing.T) {
			t.Parallel()
			few <- struct{}{}
			defer func() { <-few }()
			s := newShared(t, Options{})
			takeBack := takingsBack(t)["ProveEmail"]
			for n, proved := 1, true; proved; n++ {
				q := newSquatter(t, s, fmt.Sprint("n", n))
				if numbered {
					if err := s.Revoke(t.Context(), &authsvc.Revocation{Key: "by:p:" + q.user, UserID: q.user, Expires: time.Now().Add(time.Hour)}); err != nil {
						t.Fatal(err)
					}
				}
				q.note(t)
				r := ending(q.user)
				proved = false
				s.gate.before(n, func() {
					proved = true
					if err := takeBack(q, r); err != nil {
						t.Error(err)
					}
				})
				q.write(t)
				q.begin(t)
				s.gate.spoil(0, 0, false)
				if proved {
					q.gone(t, r)
				}
				if t.Failed() {
					t.Fatalf("proved before command %d", n)
				}
			}
		})
	}
}

// A first proof of somebody whose sessions are ended before some command of it,
// as of a user who is blocked, entitles to no session.
func TestProofOvertaken(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	refused := 0
	for n, ended := 1, true; ended; n++ {
		q := newSquatter(t, s, fmt.Sprint("n", n))
		ended = false
		s.gate.before(n, func() {
			ended = true
			if _, err := s.EndSessions(t.Context(), q.user, ending(q.user)); err != nil {
				t.Error(err)
			}
		})
		u, _, err := s.ProveEmail(t.Context(), authsvc.Proof{UserID: q.user, Email: email(q.id), At: time.Now(), Revoke: ending(q.user)})
		s.gate.spoil(0, 0, false)
		switch {
		case overtaken(t, err):
			refused++
			if !s.linked(t, q.id) {
				t.Error("a stale proof has removed an identity")
			}
		default:
			rec := record("late " + q.id)
			rec.UserID, rec.Epoch = q.user, u.Epoch
			_, err = s.CreateSession(t.Context(), rec)
			if overtaken(t, err) != ended {
				t.Errorf("the session: %v", err)
			}
		}
		if t.Failed() {
			t.Fatalf("ended before command %d", n)
		}
	}
	if refused < 3 {
		t.Errorf("%d proofs were stale", refused)
	}
}

// An identity that is being linked entitles to nothing until it is known that
// the link is not stale: not to a sign-in that begins after the address was
// proved, either.
func TestLinkUnderWay(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	takeBack := takingsBack(t)["ProveEmail"]
	for n, proved := 1, true; proved; n++ {
		for wait := 1; wait <= 4; wait++ {
			q := newSquatter(t, s, fmt.Sprintf("n%d-%d", n, wait))
			q.note(t)
			q.byAccount, proved = false, false
			late := inTurn(s.gate, n, wait, func() {
				proved = true
				if err := takeBack(q, ending(q.user)); err != nil {
					t.Error(err)
				}
			}, func() {
				if proved && q.linked(t, "late "+q.id) {
					t.Errorf("proved before command %d of a link, it is linked %d later", n, wait)
				}
			})
			q.write(t)
			late()
		}
	}
}

// A sign-in that was overtaken after it had asked for the epoch does not
// overwrite the tokens of a later one.
func TestRefreshOvertaken(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	for n, later := 1, true; later; n++ {
		id := fmt.Sprint("n", n)
		linkedUser(t, s, id)
		u, err := s.GetUserByAccount(t.Context(), "p", id)
		if err != nil {
			t.Fatal(err)
		}
		refresh := func(token string, epoch int64) error {
			acc := identified(id)
			acc.UserID, acc.AccessToken = u.ID, token
			return s.RefreshAccount(t.Context(), acc, epoch)
		}
		later = false
		s.gate.before(n, func() {
			later = true
			r := ending(u.ID)
			if _, err := s.EndSessions(t.Context(), u.ID, r); err != nil {
				t.Error(err)
			}
			if err := refresh("new", r.Seq); err != nil {
				t.Error(err)
			}
		})
		err = refresh("old", u.Epoch)
		s.gate.spoil(0, 0, false)
		if !later {
			continue
		}
		list, lookErr := s.ListAccounts(t.Context(), u.ID)
		if !errors.Is(err, authsvc.ErrStale) || lookErr != nil || list[0].AccessToken != "new" {
			t.Errorf("before command %d: %v; then %+v, %v", n, err, list, lookErr)
		}
	}
}
