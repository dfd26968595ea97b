package mongodb

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"authsvc/adapter"
)

// together runs functions concurrently and waits for them.
func together(fs ...func()) {
	var wg sync.WaitGroup
	for _, f := range fs {
		wg.Go(f)
	}
	wg.Wait()
}

// TestIntervention runs one step between any two commands of another. It checks that no
// records without a user remain, that nothing deleted returns, and that nothing newer
// is removed.
func TestIntervention(t *testing.T) {
	t.Parallel()
	server(t)
	for name, c := range map[string]struct {
		prepare func(t *testing.T, s shared, id string)
		step    func(t *testing.T, s shared, id string) error
		between func(t *testing.T, s shared, id string) error
		judge   func(t *testing.T, s shared, id string, stepErr, betweenErr error)
	}{
		"link, delete":    {bareUser, tryLinkAccount, tryDeleteUser, judgeLinkDeleted},
		"sign up, unlink": {noSetup, trySignUp, tryUnlink, judgeSignUpUnlinked},
		"renew, sign out": {unprovedUser, tryRenew, trySignOut, judgeSignedOut},
		"sign out, renew": {unprovedUser, trySignOut, tryRenew, judgeSignedOut},
		"sign up, prove":  {noSetup, trySignUp, tryProveEmail, judgeSignUpProved},
		"sign up, block":  {noSetup, trySignUp, tryProveAndBlock, judgeSignUpBlocked},
		"sign up, delete": {noSetup, trySignUp, tryDeleteUser, judgeSignUpDeleted},
		"bare, delete":    {noSetup, trySignUpBare, tryDeleteUser, judgeSignUpDeleted},
		"link, unlink":    {linkedUser, tryLinkSecond, tryUnlink, judgeLinkUnlinked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShared(t, Options{})
			if _, err := s.GetUser(t.Context(), "u-none"); !errors.Is(err, adapter.ErrNotFound) {
				t.Fatal(err)
			}
			n, done := 1, true
			for ; done; n++ {
				id := fmt.Sprint("n", n)
				c.prepare(t, s, id)
				done = false
				var betweenErr error
				s.proxy.before(n, func() {
					done = true
					betweenErr = c.between(t, s, id)
				})
				stepErr := c.step(t, s, id)
				s.proxy.failNth(0, 0, false)
				if done { // otherwise the step had fewer commands
					c.judge(t, s, id, stepErr, betweenErr)
				}
				if t.Failed() {
					t.Fatalf("before command %d: %v, %v", n, stepErr, betweenErr)
				}
			}
			if n < 4 {
				t.Errorf("only %d commands", n-2)
			}
		})
	}
}

func judgeLinkDeleted(t *testing.T, s shared, id string, linkErr, deleteErr error) {
	if s.userExists(t, id) {
		t.Error("not deleted")
	}
	if deleteErr != nil || linkErr != nil && !errors.Is(linkErr, adapter.ErrNotFound) && !errors.Is(linkErr, adapter.ErrStale) {
		t.Error(linkErr, deleteErr)
	}
	if exists[document](t)(s.first(t.Context(), s.accounts(), s.identity("p", id))) {
		t.Error("an account without a user is left")
	}
}

// judgeSignUpUnlinked checks that the sign-up failed as a whole, or was complete
// before.
func judgeSignUpUnlinked(t *testing.T, s shared, id string, signUpErr, unlinkErr error) {
	known, linked, signedIn := s.userExists(t, id), s.linked(t, id), s.signedIn(t, id)
	if signUpErr != nil && (known || linked || signedIn || !errors.Is(signUpErr, adapter.ErrConflict)) || signUpErr == nil && !(known && linked == (unlinkErr != nil) && signedIn) {
		t.Errorf("sign-up: %v, but user %v, account %v, session %v", signUpErr, known, linked, signedIn)
	}
}

func tryRenew(t *testing.T, s shared, id string) error {
	return s.UpdateSession(t.Context(), testSession(id))
}

func trySignOut(t *testing.T, s shared, id string) error {
	_, err := s.DeleteSession(t.Context(), "token "+id)
	return err
}

func judgeSignedOut(t *testing.T, s shared, id string, stepErr, betweenErr error) {
	for _, err := range []error{stepErr, betweenErr} {
		if err != nil && !errors.Is(err, adapter.ErrNotFound) {
			t.Error(err)
		}
	}
	if s.signedIn(t, id) {
		t.Error("the session came back")
	}
}

// judgeSignUpProved checks that the user whose address was proved remains, and that the
// sign-up is undone.
func judgeSignUpProved(t *testing.T, s shared, id string, signUpErr, proofErr error) {
	if proofErr != nil {
		if signUpErr != nil || !errors.Is(proofErr, adapter.ErrNotFound) {
			t.Error(signUpErr, proofErr)
		}
		return // the user did not exist yet
	}
	u, err := s.GetUserByEmail(t.Context(), email(id))
	if err != nil || u.EmailVerified.IsZero() || s.linked(t, id) || s.signedIn(t, id) {
		t.Errorf("sign-up: %v; then %+v, %v", signUpErr, u, err)
	}
}

func tryProveAndBlock(t *testing.T, s shared, id string) error {
	if err := tryProveEmail(t, s, id); err != nil {
		return err
	}
	return s.SetPerson(t.Context(), s.userID(t, id), adapter.PersonUpdate{Blocked: new(time.Now()), BlockedWhy: new("spam")}, nil)
}

// judgeSignUpBlocked checks that a block outlasts the sign-up during which it began, also
// if the sign-up is undone.
func judgeSignUpBlocked(t *testing.T, s shared, id string, signUpErr, blockErr error) {
	judgeSignUpProved(t, s, id, signUpErr, blockErr)
	if blockErr != nil {
		return
	}
	if p := s.persons(t)[s.userID(t, id)]; p.Blocked.IsZero() || p.BlockedWhy != "spam" {
		t.Errorf("sign-up: %v; the block is lost: %+v", signUpErr, p)
	}
}

// trySignUpBare signs up without account and session.
func trySignUpBare(t *testing.T, s shared, id string) error {
	_, err := s.SignUp(t.Context(), adapter.User{Email: email(id)}, nil, nil, "de", nil)
	return err
}

// judgeSignUpDeleted checks that nothing remains of a user who is deleted during the
// sign-up.
func judgeSignUpDeleted(t *testing.T, s shared, id string, signUpErr, deleteErr error) {
	if deleteErr == nil && (s.userExists(t, id) || s.linked(t, id) || s.signedIn(t, id)) {
		t.Error("not deleted")
	}
	if deleteErr != nil && (signUpErr != nil || !errors.Is(deleteErr, adapter.ErrNotFound)) {
		t.Error(signUpErr, deleteErr)
	}
	s.checkPersons(t)
}

func linkedUser(t *testing.T, s shared, id string) {
	t.Helper()
	if err := trySignUp(t, s, id); err != nil {
		t.Fatal(err)
	}
}

func tryLinkSecond(t *testing.T, s shared, id string) error {
	u, err := s.GetUserByAccount(t.Context(), "p", id)
	if err != nil {
		return err
	}
	acc := testAccount("second " + id)
	acc.UserID = u.ID
	_, err = s.LinkAccount(t.Context(), acc, u.Epoch)
	return err
}

// judgeLinkUnlinked checks that the link came first, or is stale and left nothing.
func judgeLinkUnlinked(t *testing.T, s shared, id string, linkErr, unlinkErr error) {
	if unlinkErr != nil || linkErr != nil && !errors.Is(linkErr, adapter.ErrStale) && !errors.Is(linkErr, adapter.ErrNotFound) {
		t.Error(linkErr, unlinkErr)
	}
	if there := exists[document](t)(s.first(t.Context(), s.accounts(), s.identity("p", "second "+id))); there != (linkErr == nil) {
		t.Errorf("link: %v, but stored: %v", linkErr, there)
	}
}

// TestProofsOverlapping checks that, of two overlapping proofs of one address, the
// later one removes nothing added after the first.
func TestProofsOverlapping(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	begun := true
	for n := 1; begun; n++ {
		id := fmt.Sprint("n", n)
		unprovedUser(t, s, id)
		second := make(chan error, 1)
		begun = false
		s.proxy.before(n, func() {
			begun = true
			go func() { second <- tryProveAndLink(t, s, id) }()
			select { // it is done, or waits
			case err := <-second:
				second <- err
			case <-time.After(150 * time.Millisecond):
			}
		})
		first := tryProveEmail(t, s, id)
		if begun {
			judgeProvedTwice(t, s, id, first, <-second)
		}
		s.proxy.failNth(0, 0, false)
		if t.Failed() {
			t.Fatalf("before command %d", n)
		}
	}
}

// tryProveAndLink proves the address and then links an account.
func tryProveAndLink(t *testing.T, s shared, id string) error {
	if err := tryProveEmail(t, s, id); err != nil {
		return err
	}
	acc := testAccount("own " + id)
	u, err := s.GetUserByEmail(t.Context(), email(id))
	if err != nil {
		return err
	}
	acc.UserID = u.ID
	_, err = s.LinkAccount(t.Context(), acc, u.Epoch)
	return err
}

func judgeProvedTwice(t *testing.T, s shared, id string, first, second error) {
	if first != nil || second != nil {
		t.Error(first, second)
	}
	u, err := s.GetUserByEmail(t.Context(), email(id))
	if err != nil || u.EmailVerified.IsZero() || s.linked(t, id) || s.signedIn(t, id) {
		t.Errorf("not proved: %+v, %v", u, err)
	}
	if !s.linked(t, "own "+id) {
		t.Error("what was linked after the proof is gone")
	}
}

// TestDeleteRacingSessions checks that concurrent deletions, renewals and sign-ins of
// one user leave no session.
func TestDeleteRacingSessions(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	if err := trySignUp(t, s, "a"); err != nil {
		t.Fatal(err)
	}
	user := s.userID(t, "a")
	rec := testSession("a")
	var fs []func()
	for i := range 16 {
		fs = append(fs, func() {
			if err := s.UpdateSession(t.Context(), rec); err != nil && !errors.Is(err, adapter.ErrNotFound) {
				t.Error(err)
			}
		}, func() {
			more := testSession(fmt.Sprint("more ", i))
			more.UserID = user
			if _, err := s.CreateSession(t.Context(), more); err != nil && !errors.Is(err, adapter.ErrNotFound) && !errors.Is(err, adapter.ErrStale) {
				t.Error(err)
			}
		}, func() {
			if err := s.DeleteUser(t.Context(), user, endSessionsOf(user)); err != nil && !errors.Is(err, adapter.ErrNotFound) {
				t.Error(err)
			}
		})
	}
	together(fs...)
	for i := range 16 {
		if s.signedIn(t, fmt.Sprint("more ", i)) {
			t.Error("a session without a user is left")
		}
	}
	if s.signedIn(t, "a") {
		t.Error("the session came back")
	}
	if list, err := s.ListSessions(t.Context(), user); err != nil || len(list) > 0 {
		t.Errorf("got %v, %v", list, err)
	}
}
