package adaptertest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc/adapter"
)

func sessionTests() []test {
	return []test{
		{"Session/every field", sessionEveryField},
		{"Session/unknown", sessionUnknown},
		{"Session/token unique", sessionUnique},
		{"Session/token byte for byte", sessionExact},
		{"Session/no digest", sessionNoDigest},
		{"Session/expired ones are returned", sessionExpired},
		{"Session/update", sessionUpdate},
		{"Session/update never resurrects", sessionResurrect},
		{"Session/delete", sessionDelete},
		{"Session/concurrent delete", sessionDeleteRace},
		{"Session/end all of a user", sessionEnd},
		{"Session/list of a user", sessionList},
	}
}

func sessionEveryField(t *testing.T, a adapter.Adapter) {
	u := newUser(t, a, "ann")
	for _, want := range []adapter.SessionRecord{
		{ID: "s1", SessionToken: "sha256:t1", Digest: "t1", UserID: u.ID, Expires: at(60), Began: at(-1), AuthTime: at(-2), Provider: "github"},
		{ID: "s2", SessionToken: "sha256:t2", Digest: "t2", UserID: u.ID, Expires: at(60)},
		{ID: "s3", SessionToken: "sha256:t3", Digest: "t3", UserID: u.ID,
			Expires:  at(60).Add(999_999).In(time.FixedZone("west", -9*3600)),
			AuthTime: at(-9).Add(999_999).In(time.FixedZone("west", -9*3600)),
			Began:    at(0).Add(999_999).In(time.FixedZone("west", -9*3600))},
		{ID: "s4", SessionToken: "sha256:t4", Digest: "t4", UserID: u.ID, Expires: at(60), Claims: []byte(`{"a":"` + strings.Repeat("x", 4<<10-len(`{"a":""}`)) + `"}`)},
		{ID: "s5", SessionToken: "sha256:t5", Digest: "t5", UserID: u.ID, Expires: at(60), Claims: []byte(`{"a":"\u0000 \"\\ é😀","b":1e400,"c":{"b":[],"a":null}}`)},
	} {
		got, err := a.CreateSession(t.Context(), want)
		ok(t, err)
		want.ID = got.ID
		want.Expires = want.Expires.UTC().Truncate(time.Millisecond)
		want.Began, want.AuthTime = want.Began.UTC().Truncate(time.Millisecond), want.AuthTime.UTC().Truncate(time.Millisecond)
		same(t, got, want)
		got, owner, err := a.GetSession(t.Context(), want.SessionToken, want.Digest)
		ok(t, err)
		same(t, got, want)
		same(t, owner, u)
		if got.Expires.Location() != time.UTC {
			t.Error("time is not in UTC")
		}
	}
}

func sessionUnknown(t *testing.T, a adapter.Adapter) {
	lost := session("lost")
	lost.UserID = "nobody"
	_, err := a.CreateSession(t.Context(), lost)
	is(t, err, adapter.ErrNotFound)
	_, _, err = a.GetSession(t.Context(), lost.SessionToken, lost.Digest)
	is(t, err, adapter.ErrNotFound)
	is(t, a.UpdateSession(t.Context(), lost), adapter.ErrNotFound)
	_, err = a.DeleteSession(t.Context(), lost.SessionToken)
	is(t, err, adapter.ErrNotFound)

	lost.UserID = newUser(t, a, "somebody").ID
	_, err = a.CreateSession(t.Context(), lost)
	ok(t, err)
}

func sessionUnique(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	again := session("again")
	again.SessionToken, again.UserID = ann.session.SessionToken, bob.user.ID
	_, err := a.CreateSession(t.Context(), again)
	is(t, err, adapter.ErrConflict)
	checkUnchanged(t, a, ann)
	again.SessionToken = "token-again" // the refused session stored nothing
	_, err = a.CreateSession(t.Context(), again)
	ok(t, err)
}

func sessionExact(t *testing.T, a adapter.Adapter) {
	u := newUser(t, a, "ann")
	for i, token := range lookalikes() {
		s := session(numbered("s", i))
		s.SessionToken, s.Digest, s.UserID = token, "digest "+token, u.ID
		want, err := a.CreateSession(t.Context(), s)
		if refusesText(t, a, err, func() error { _, _, err := a.GetSession(t.Context(), token, s.Digest); return err }) {
			continue
		}
		got, _, err := a.GetSession(t.Context(), token, s.Digest)
		ok(t, err)
		same(t, got, want)
	}
}

func sessionNoDigest(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	s := session("new")
	s.UserID, s.Digest = ann.user.ID, ""
	_, err := a.CreateSession(t.Context(), s)
	failed(t, err)
	_, _, err = a.GetSession(t.Context(), s.SessionToken, "")
	is(t, err, adapter.ErrNotFound)
	changed := ann.session
	changed.Digest, changed.Expires = "", at(9)
	failed(t, a.UpdateSession(t.Context(), changed))
	checkUnchanged(t, a, ann)
}

func sessionExpired(t *testing.T, a adapter.Adapter) {
	u := newUser(t, a, "ann")
	s := session("old")
	s.UserID, s.Expires = u.ID, time.Date(2001, 9, 9, 1, 46, 39, 999e6, time.UTC)
	want, err := a.CreateSession(t.Context(), s)
	ok(t, err)
	got, _, err := a.GetSession(t.Context(), s.SessionToken, s.Digest)
	ok(t, err)
	same(t, got, want)
}

func sessionUpdate(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	for _, change := range []adapter.SessionRecord{
		{Expires: at(7200).Add(999_999), Began: at(5), AuthTime: at(4), Provider: "google"},
		{Expires: at(1)}, // clears the other fields
		{Expires: at(2), Began: at(6), Provider: "github"},
	} {
		change.ID, change.UserID = "ignored", bob.user.ID
		change.SessionToken, change.Digest = ann.session.SessionToken, ann.session.Digest
		ok(t, a.UpdateSession(t.Context(), change))
		ann.session.Expires = change.Expires.Truncate(time.Millisecond)
		ann.session.Began, ann.session.AuthTime, ann.session.Provider = change.Began, change.AuthTime, change.Provider
		checkUnchanged(t, a, ann)
	}
	checkUnchanged(t, a, bob)
}

func sessionResurrect(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	_, err := a.DeleteSession(t.Context(), ann.session.SessionToken)
	ok(t, err)
	is(t, a.UpdateSession(t.Context(), ann.session), adapter.ErrNotFound)
	_, _, err = a.GetSession(t.Context(), ann.session.SessionToken, ann.session.Digest)
	is(t, err, adapter.ErrNotFound)

	// Nor can a renewal in progress undo a sign-out.
	bob := signUp(t, a, "bob")
	race(workers, func(i int) error {
		if i == workers/2 {
			_, err := a.DeleteSession(t.Context(), bob.session.SessionToken)
			return err
		}
		return a.UpdateSession(t.Context(), bob.session)
	})
	_, _, err = a.GetSession(t.Context(), bob.session.SessionToken, bob.session.Digest)
	is(t, err, adapter.ErrNotFound)
}

func sessionDelete(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	got, err := a.DeleteSession(t.Context(), ann.session.SessionToken)
	ok(t, err)
	same(t, got, ann.session)
	_, _, err = a.GetSession(t.Context(), ann.session.SessionToken, ann.session.Digest)
	is(t, err, adapter.ErrNotFound)
	checkUnchanged(t, a, bob)
	again, err := a.CreateSession(t.Context(), ann.session) // nothing left conflicts
	ok(t, err)
	same(t, again.Digest, ann.session.Digest)
}

func sessionDeleteRace(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	oneWins(t, race(workers, func(int) error {
		_, err := a.DeleteSession(t.Context(), ann.session.SessionToken)
		return err
	}), adapter.ErrNotFound)
}

func sessionEnd(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	for i := range 3 {
		s := session(numbered("more", i))
		s.UserID = ann.user.ID
		_, err := a.CreateSession(t.Context(), s)
		ok(t, err)
	}
	rev := about(ann.user.ID)
	n, err := a.EndSessions(t.Context(), ann.user.ID, rev)
	ok(t, err)
	same(t, n, 4)
	_, _, err = a.GetSession(t.Context(), ann.session.SessionToken, ann.session.Digest)
	is(t, err, adapter.ErrNotFound)
	revocations(t, a, 0, *rev)
	checkUnchanged(t, a, bob)

	// Without sessions there is no error, and the revocation is written all the same.
	nobody := about("nobody")
	n, err = a.EndSessions(t.Context(), "nobody", nobody)
	ok(t, err)
	same(t, n, 0)
	revocations(t, a, rev.Seq, *nobody)
	n, err = a.EndSessions(t.Context(), bob.user.ID, about(bob.user.ID))
	ok(t, err)
	same(t, n, 1)
}

func sessionList(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	second := session("second")
	second.UserID, second.Expires = ann.user.ID, at(-3600)
	second, err := a.CreateSession(t.Context(), second)
	ok(t, err)
	for _, c := range []struct {
		user string
		want []adapter.SessionRecord
	}{{ann.user.ID, []adapter.SessionRecord{ann.session, second}}, {bob.user.ID, []adapter.SessionRecord{bob.session}}, {"nobody", nil}} {
		got, err := a.ListSessions(t.Context(), c.user)
		ok(t, err)
		slices.SortFunc(got, func(x, y adapter.SessionRecord) int { return strings.Compare(x.SessionToken, y.SessionToken) })
		same(t, got, c.want)
	}
}
