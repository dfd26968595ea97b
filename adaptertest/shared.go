package adaptertest

import (
	"testing"

	"authsvc/adapter"
)

// sharedTests returns the tests for adapters that implement Foreign or Reopener.
func sharedTests() []test {
	return []test{
		{"Shared/session that NextAuth.js made", foreignSession},
		{"Shared/session that NextAuth.js ended", foreignSignOut},
		{"Shared/two adapters, one store", twoAdapters},
	}
}

func foreignSession(t *testing.T, a adapter.Adapter) {
	f, shares := a.(Foreign)
	if !shares {
		return // no other program writes into such a store
	}
	ann := signUp(t, a, "ann")
	ok(t, f.ForeignSession(t.Context(), "foreign", "foreign-token", ann.user.ID, at(60)))
	want := adapter.SessionRecord{ID: "foreign", SessionToken: "foreign-token", Digest: "foreign-digest", UserID: ann.user.ID, Expires: at(60)}
	got, u, err := a.GetSession(t.Context(), want.SessionToken, want.Digest)
	ok(t, err)
	want.ID = got.ID
	same(t, got, want) // in particular, without Began
	same(t, u, ann.user)

	// The first update adds authsvc's own data about the session. Of several concurrent
	// updates none fails.
	want.Began, want.AuthTime, want.Provider = at(-5), at(-6), "github"
	nWin(t, race(workers, func(int) error { return a.UpdateSession(t.Context(), want) }), workers, nil)
	got, _, err = a.GetSession(t.Context(), want.SessionToken, want.Digest)
	ok(t, err)
	same(t, got, want)

	ok(t, f.ForeignSession(t.Context(), "second", "second-token", ann.user.ID, at(60)))
	deleted, err := a.DeleteSession(t.Context(), "second-token")
	ok(t, err)
	same(t, deleted, adapter.SessionRecord{ID: deleted.ID, SessionToken: "second-token", UserID: ann.user.ID, Expires: at(60)})
	n, err := a.EndSessions(t.Context(), ann.user.ID, about(ann.user.ID))
	ok(t, err)
	same(t, n, 2) // its own session and the adopted one
}

func foreignSignOut(t *testing.T, a adapter.Adapter) {
	f, shares := a.(Foreign)
	if !shares {
		return
	}
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	ok(t, f.ForeignSignOut(t.Context(), ann.session.SessionToken))
	_, _, err := a.GetSession(t.Context(), ann.session.SessionToken, ann.session.Digest)
	is(t, err, adapter.ErrNotFound)
	is(t, a.UpdateSession(t.Context(), ann.session), adapter.ErrNotFound)
	checkUnchanged(t, a, bob)

	// If the same token is used again, it does not inherit the earlier data.
	ok(t, f.ForeignSession(t.Context(), "again", ann.session.SessionToken, ann.user.ID, at(60)))
	got, _, err := a.GetSession(t.Context(), ann.session.SessionToken, ann.session.Digest)
	ok(t, err)
	same(t, got.Began.IsZero(), true)
}

func twoAdapters(t *testing.T, a adapter.Adapter) {
	r, shares := a.(Reopener)
	if !shares {
		return // the store cannot be opened again
	}
	b := r.Reopen(t)
	both := []adapter.Adapter{a, b}
	ann := signUp(t, a, "ann")
	checkUnchanged(t, b, ann)
	ann.session.Expires = at(9)
	ok(t, b.UpdateSession(t.Context(), ann.session))
	checkUnchanged(t, a, ann)
	_, err := b.DeleteSession(t.Context(), ann.session.SessionToken)
	ok(t, err)
	_, _, err = a.GetSession(t.Context(), ann.session.SessionToken, ann.session.Digest)
	is(t, err, adapter.ErrNotFound)

	errs := race(workers, func(i int) error {
		acc := account("one")
		acc.ID = numbered("account", i)
		_, err := both[i%2].SignUp(t.Context(), adapter.User{ID: numbered("user", i)}, &acc, nil, "", nil)
		return err
	})
	oneWins(t, errs, adapter.ErrConflict)
	link := putLink(t, a, "ann@example.com", "link")
	oneWins(t, race(workers, func(i int) error {
		_, _, err := both[i%2].TakeToken(t.Context(), link.Identifier, link.Token, at(0))
		return err
	}), adapter.ErrNotFound)
	ok(t, a.DeleteMail(t.Context(), "link")) // some stores have removed it
	putLink(t, a, "ann@example.com", "mailed")
	oneWins(t, race(workers, func(i int) error {
		_, err := both[i%2].ClaimMail(t.Context(), at(0), at(60))
		return err
	}), adapter.ErrNotFound)
	oneWins(t, race(workers, func(i int) error { return both[i%2].UseOnce(t.Context(), "k", at(1)) }), adapter.ErrConflict)
	nWin(t, race(workers, func(i int) error { return both[i%2].Revoke(t.Context(), revocation("k", i, i)) }), workers, nil)
	list := log(t, b, 0, 10)
	same(t, len(list), 1)
	list[0].Seq = 0
	same(t, list[0], *revocation("k", workers-1, workers-1))
}
