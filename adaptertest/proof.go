package adaptertest

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"authsvc/adapter"
)

func proofTests() []test {
	return []test{
		{"ProveEmail/first proof removes what was there before", proofStrict},
		{"ProveEmail/keep", proofKeep},
		{"ProveEmail/already verified", proofAgain},
		{"ProveEmail/unknown user", proofUnknown},
		{"ProveEmail/nothing to remove", proofBare},
		{"ProveEmail/stale", proofStale},
		{"ProveEmail/concurrent", proofRace},
	}
}

// putLink stores a token with its mail.
func putLink(t *testing.T, a adapter.Adapter, email, token string) adapter.VerificationToken {
	t.Helper()
	link := adapter.VerificationToken{Identifier: email, Token: token, Expires: at(600)}
	ok(t, a.PutToken(t.Context(), link, adapter.Mail{ID: token, Payload: []byte(token), Due: at(0), Expires: at(600)}, 1000))
	return link
}

// never is a time at which every token of the tests has expired. Taking one then leaves
// the others.
var never = at(1e6)

// links counts the tokens of an address by taking them.
func links(t *testing.T, a adapter.Adapter, email string, tokens ...string) (left int) {
	t.Helper()
	for _, token := range tokens {
		if _, _, err := a.TakeToken(t.Context(), email, token, never); err == nil {
			left++
		} else {
			is(t, err, adapter.ErrNotFound)
		}
	}
	return left
}

func queued(t *testing.T, a adapter.Adapter) (ids []string) {
	t.Helper()
	for {
		m, err := a.ClaimMail(t.Context(), at(0), at(1))
		if err != nil {
			is(t, err, adapter.ErrNotFound)
			return ids
		}
		ids = append(ids, m.ID)
	}
}

func proofStrict(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	second := adapter.Account{ID: "second", UserID: ann.user.ID, Type: "oauth", Provider: "gitlab", ProviderAccountID: "1", RefreshToken: "r"}
	second, err := a.LinkAccount(t.Context(), second, 0)
	ok(t, err)
	putLink(t, a, ann.user.Email, "ann-1")
	putLink(t, a, ann.user.Email, "ann-2")
	putLink(t, a, bob.user.Email, "bob-1")
	rev := about(ann.user.ID)

	u, removed, err := a.ProveEmail(t.Context(), adapter.Proof{UserID: ann.user.ID, Email: ann.user.Email,
		At: at(5).Add(999 * time.Microsecond), Revoke: rev})
	ok(t, err)
	ann.user.EmailVerified, ann.user.Epoch, ann.user.SessionEpoch = at(5), rev.Seq, rev.Seq
	same(t, u, ann.user)
	same(t, removed, []adapter.Account{ann.account, second})

	got, err := a.GetUser(t.Context(), ann.user.ID)
	ok(t, err)
	same(t, got, ann.user)
	list, err := a.ListAccounts(t.Context(), ann.user.ID)
	ok(t, err)
	same(t, len(list), 0)
	_, _, err = a.GetSession(t.Context(), ann.session.SessionToken, ann.session.Digest)
	is(t, err, adapter.ErrNotFound)
	same(t, links(t, a, ann.user.Email, "ann-1", "ann-2"), 0)
	same(t, queued(t, a), []string{"bob-1"})
	revocations(t, a, 0, *rev)

	checkUnchanged(t, a, bob)
	same(t, links(t, a, bob.user.Email, "bob-1"), 1)
}

// untouched checks that p changed only EmailVerified of k.
func untouched(t *testing.T, a adapter.Adapter, k fixture, p adapter.Proof) {
	t.Helper()
	putLink(t, a, k.user.Email, "link")
	p.UserID, p.Email = k.user.ID, k.user.Email
	p.Revoke = about(k.user.ID)
	u, removed, err := a.ProveEmail(t.Context(), p)
	ok(t, err)
	k.user.EmailVerified = p.At
	same(t, u, k.user)
	same(t, len(removed), 0)
	checkUnchanged(t, a, k)
	same(t, queued(t, a), []string{"link"})
	same(t, links(t, a, k.user.Email, "link"), 1)
	revocations(t, a, 0)
}

func proofKeep(t *testing.T, a adapter.Adapter) {
	untouched(t, a, signUp(t, a, "ann"), adapter.Proof{At: at(5), Keep: true})
}

func proofAgain(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	_, err := a.UpdateUser(t.Context(), ann.user.ID, adapter.UserUpdate{EmailVerified: ptr(at(1))})
	ok(t, err)
	untouched(t, a, ann, adapter.Proof{At: at(5)})
}

func proofUnknown(t *testing.T, a adapter.Adapter) {
	putLink(t, a, "nobody@example.com", "link")
	_, _, err := a.ProveEmail(t.Context(), adapter.Proof{UserID: "nobody", Email: "nobody@example.com", At: at(5),
		Revoke: about("nobody")})
	is(t, err, adapter.ErrNotFound)
	same(t, links(t, a, "nobody@example.com", "link"), 1)
	revocations(t, a, 0)
}

func proofBare(t *testing.T, a adapter.Adapter) {
	u := newUser(t, a, "ann")
	got, removed, err := a.ProveEmail(t.Context(), adapter.Proof{UserID: u.ID, Email: u.Email, At: at(5), Revoke: about(u.ID)})
	ok(t, err)
	same(t, len(removed), 0)
	same(t, got.EmailVerified, at(5))
}

// proofStale checks that a proof is stale if access was revoked since its user was
// read, whatever the proof would change.
func proofStale(t *testing.T, a adapter.Adapter) {
	for i, verified := range []bool{false, true} {
		ann := signUp(t, a, numbered("ann", i))
		putLink(t, a, ann.user.Email, ann.user.ID)
		if verified {
			_, err := a.UpdateUser(t.Context(), ann.user.ID, adapter.UserUpdate{EmailVerified: ptr(at(1))})
			ok(t, err)
		}
		_, err := a.EndSessions(t.Context(), ann.user.ID, about(ann.user.ID))
		ok(t, err)
		before, err := a.GetUser(t.Context(), ann.user.ID)
		ok(t, err)
		records := log(t, a, 0, 10)
		for _, keep := range []bool{false, true} {
			p := adapter.Proof{UserID: before.ID, Email: before.Email, At: at(5), Keep: keep, Revoke: about(before.ID)}
			for _, p.Epoch = range []int64{0, before.Epoch - 1, before.Epoch + 1} {
				_, _, err = a.ProveEmail(t.Context(), p)
				is(t, err, adapter.ErrStale)
			}
		}
		after, err := a.GetUser(t.Context(), ann.user.ID)
		ok(t, err)
		same(t, after, before)
		accounts, err := a.ListAccounts(t.Context(), ann.user.ID)
		ok(t, err)
		same(t, accounts, []adapter.Account{ann.account})
		same(t, log(t, a, 0, 10), records)
		same(t, links(t, a, ann.user.Email, ann.user.ID), 1)

		u, _, err := a.ProveEmail(t.Context(), adapter.Proof{UserID: before.ID, Email: before.Email, Epoch: before.Epoch, At: at(5), Revoke: about(before.ID)})
		ok(t, err)
		same(t, u.EmailVerified, at(5))
	}
}

// proofRace checks that exactly one of several concurrent proofs is the first, and that
// accounts linked after it stay.
func proofRace(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	var first atomic.Int32
	errs := race(workers, func(i int) error {
		for {
			u, err := a.GetUser(t.Context(), ann.user.ID)
			if err != nil {
				return err
			}
			u, removed, err := a.ProveEmail(t.Context(), adapter.Proof{UserID: u.ID, Email: u.Email, Epoch: u.Epoch, At: at(5), Revoke: about(u.ID)})
			if errors.Is(err, adapter.ErrStale) {
				continue
			}
			if err != nil || len(removed) == 0 {
				return err
			}
			first.Add(1)
			acc := account("own")
			acc.UserID = ann.user.ID
			_, err = a.LinkAccount(t.Context(), acc, u.Epoch)
			return err
		}
	})
	nWin(t, errs, workers, nil)
	same(t, first.Load(), 1)
	list, err := a.ListAccounts(t.Context(), ann.user.ID)
	ok(t, err)
	same(t, len(list), 1)
	same(t, list[0].ProviderAccountID, "github-own")
}
