package mongodb

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"authsvc/adapter"
)

// TestProofOvertaken checks that a first proof does not allow a session if the user's
// sessions are ended during it, for example by a block.
func TestProofOvertaken(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	refused := 0
	for n, ended := 1, true; ended; n++ {
		q := newSquatter(t, s, fmt.Sprint("n", n))
		ended = false
		s.proxy.before(n, func() {
			ended = true
			if _, err := s.EndSessions(t.Context(), q.user, endSessionsOf(q.user)); err != nil {
				t.Error(err)
			}
		})
		u, _, err := s.ProveEmail(t.Context(), adapter.Proof{UserID: q.user, Email: email(q.id), At: time.Now(), Revoke: endSessionsOf(q.user)})
		s.proxy.failNth(0, 0, false)
		switch {
		case isStale(t, err):
			refused++
			if !s.linked(t, q.id) {
				t.Error("a stale proof has removed an identity")
			}
		default:
			rec := testSession("late " + q.id)
			rec.UserID, rec.Epoch = q.user, u.Epoch
			_, err = s.CreateSession(t.Context(), rec)
			if isStale(t, err) != ended {
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

// TestLinkInProgress checks that an account being linked is not valid before the link is
// known not to be stale, even for a sign-in after the proof of the address.
func TestLinkInProgress(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	takeBack := revokingSteps(t)["ProveEmail"]
	for n, proved := 1, true; proved; n++ {
		for wait := 1; wait <= 4; wait++ {
			q := newSquatter(t, s, fmt.Sprintf("n%d-%d", n, wait))
			q.readEpochs(t)
			q.byAccount, proved = false, false
			late := inTurn(s.proxy, n, wait, func() {
				proved = true
				if err := takeBack(q, endSessionsOf(q.user)); err != nil {
					t.Error(err)
				}
			}, func() {
				if proved && q.linked(t, "late "+q.id) {
					t.Errorf("proved before command %d of a link, it is linked %d later", n, wait)
				}
			})
			q.refreshAndLink(t)
			late()
		}
	}
}

// TestRefreshOvertaken checks that a sign-in that read an older epoch does not
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
			acc := testAccount(id)
			acc.UserID, acc.AccessToken = u.ID, token
			return s.RefreshAccount(t.Context(), acc, epoch)
		}
		later = false
		s.proxy.before(n, func() {
			later = true
			r := endSessionsOf(u.ID)
			if _, err := s.EndSessions(t.Context(), u.ID, r); err != nil {
				t.Error(err)
			}
			if err := refresh("new", r.Seq); err != nil {
				t.Error(err)
			}
		})
		err = refresh("old", u.Epoch)
		s.proxy.failNth(0, 0, false)
		if !later {
			continue
		}
		list, lookErr := s.ListAccounts(t.Context(), u.ID)
		if !errors.Is(err, adapter.ErrStale) || lookErr != nil || list[0].AccessToken != "new" {
			t.Errorf("before command %d: %v; then %+v, %v", n, err, list, lookErr)
		}
	}
}
