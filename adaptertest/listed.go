package adaptertest

import (
	"testing"
	"time"

	"authsvc/adapter"
)

// listedTests returns tests of the list of sessions, and of sessions that are stored
// only for the list.
func listedTests() []test {
	return []test{
		{"Session/origin is listed", sessionOrigin},
		{"Session/without a token", sessionOfCookie},
		{"Session/without a token, stored with the user", sessionOfCookieSignUp},
		{"Session/touched", sessionTouch},
		{"Session/deleted by its digest", sessionDeleteOf},
		{"Session/concurrent delete by its digest", sessionDeleteOfRace},
		{"Mail/without a link", mailAlone},
	}
}

// cookieSession returns a session of strategy jwt.
func cookieSession(name, userID string) adapter.SessionRecord {
	s := session(name)
	s.ID, s.SessionToken, s.UserID, s.Claims = "", "", userID, nil
	s.SessionOrigin = origin(name)
	return s
}

func origin(name string) adapter.SessionOrigin {
	return adapter.SessionOrigin{AMR: "fed mfa", SecondAt: at(-30), Agent: "Mozilla/5.0 (" + name + ") é",
		Network: "2001:db8::/48", Client: "acme-ios", Actor: "support"}
}

// sessionsOf returns a user's sessions by their digests.
func sessionsOf(t *testing.T, a adapter.Adapter, userID string) map[string]adapter.SessionRecord {
	t.Helper()
	list, err := a.ListSessions(t.Context(), userID)
	ok(t, err)
	found := map[string]adapter.SessionRecord{}
	for _, s := range list {
		s.Epoch = 0 // need not be returned
		found[s.Digest] = s
	}
	same(t, len(found), len(list))
	return found
}

func sessionOrigin(t *testing.T, a adapter.Adapter) {
	ann := newUser(t, a, "ann")
	s := session("ann")
	s.UserID, s.SessionOrigin = ann.ID, origin("ann")
	s, err := a.CreateSession(t.Context(), s)
	ok(t, err)
	bare := session("bare")
	bare.UserID = ann.ID
	bare, err = a.CreateSession(t.Context(), bare)
	ok(t, err)
	same(t, sessionsOf(t, a, ann.ID), map[string]adapter.SessionRecord{s.Digest: s, bare.Digest: bare})
	change := adapter.SessionRecord{SessionToken: s.SessionToken, Digest: s.Digest, UserID: ann.ID, Expires: at(9), Began: at(8), AuthTime: at(7), Provider: "google"}
	ok(t, a.UpdateSession(t.Context(), change)) // leaves the other fields unchanged
	s.Expires, s.Began, s.AuthTime, s.Provider = at(9), at(8), at(7), "google"
	same(t, sessionsOf(t, a, ann.ID)[s.Digest], s)
	got, _, err := a.GetSession(t.Context(), s.SessionToken, s.Digest)
	ok(t, err)
	same(t, got.SessionOrigin, adapter.SessionOrigin{AMR: s.AMR, SecondAt: s.SecondAt, Actor: s.Actor}) // the other fields are not read
	got, _, err = a.GetSession(t.Context(), bare.SessionToken, bare.Digest)
	ok(t, err)
	same(t, got.SessionOrigin, adapter.SessionOrigin{})
	deleted, err := a.DeleteSession(t.Context(), s.SessionToken)
	ok(t, err)
	same(t, deleted.SessionOrigin, s.SessionOrigin)
}

func sessionOfCookie(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	lost := cookieSession("lost", "nobody")
	is(t, second(a.CreateSession(t.Context(), lost)), adapter.ErrNotFound)
	lost.UserID, lost.Digest = ann.user.ID, ""
	failed(t, second(a.CreateSession(t.Context(), lost)))

	one, two := cookieSession("one", ann.user.ID), cookieSession("two", ann.user.ID)
	for _, s := range []adapter.SessionRecord{one, two} {
		got, err := a.CreateSession(t.Context(), s)
		ok(t, err)
		same(t, got, s)
	}
	his := cookieSession("one", bob.user.ID)
	is(t, second(a.CreateSession(t.Context(), his)), adapter.ErrConflict)
	his.Digest = "digest-his"
	ok(t, second(a.CreateSession(t.Context(), his)))
	same(t, sessionsOf(t, a, ann.user.ID), map[string]adapter.SessionRecord{ann.session.Digest: ann.session, one.Digest: one, two.Digest: two})

	// It must not be usable as a session.
	for _, token := range []string{"", one.Digest} {
		_, _, err := a.GetSession(t.Context(), token, one.Digest)
		is(t, err, adapter.ErrNotFound)
		is(t, second(a.DeleteSession(t.Context(), token)), adapter.ErrNotFound)
	}
	one.Expires, one.Began, one.AuthTime, one.Provider = at(9), at(8), at(7), "google"
	ok(t, a.UpdateSession(t.Context(), one))
	same(t, sessionsOf(t, a, ann.user.ID)[one.Digest], one)
	is(t, a.UpdateSession(t.Context(), adapter.SessionRecord{Digest: "digest-none", Expires: at(1)}), adapter.ErrNotFound)

	n, err := a.EndSessions(t.Context(), ann.user.ID, about(ann.user.ID))
	ok(t, err)
	same(t, n, 3)
	is(t, a.UpdateSession(t.Context(), one), adapter.ErrNotFound)
	is(t, second(a.CreateSession(t.Context(), one)), adapter.ErrStale)
	same(t, len(sessionsOf(t, a, ann.user.ID)), 0)
	same(t, len(sessionsOf(t, a, bob.user.ID)), 2)
	ok(t, a.DeleteUser(t.Context(), bob.user.ID, about(bob.user.ID)))
	same(t, len(sessionsOf(t, a, bob.user.ID)), 0)
	carol := signUp(t, a, "carol")
	again := cookieSession("one", carol.user.ID) // nothing left conflicts
	ok(t, second(a.CreateSession(t.Context(), again)))
	_, _, err = a.ProveEmail(t.Context(), adapter.Proof{UserID: carol.user.ID, Email: carol.user.Email, At: at(1), Revoke: about(carol.user.ID)})
	ok(t, err)
	same(t, len(sessionsOf(t, a, carol.user.ID)), 0)
}

func sessionOfCookieSignUp(t *testing.T, a adapter.Adapter) {
	s := cookieSession("ann", "")
	u, err := a.SignUp(t.Context(), adapter.User{ID: "user-ann", Email: "ann@example.com"}, nil, &s, "", nil)
	ok(t, err)
	same(t, s.UserID, u.ID)
	same(t, sessionsOf(t, a, u.ID), map[string]adapter.SessionRecord{s.Digest: s})
	taken := cookieSession("ann", "")
	_, err = a.SignUp(t.Context(), adapter.User{ID: "user-bob", Email: "bob@example.com"}, nil, &taken, "", nil)
	is(t, err, adapter.ErrConflict)
	_, err = a.GetUserByEmail(t.Context(), "bob@example.com")
	is(t, err, adapter.ErrNotFound)
}

func sessionTouch(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	s := cookieSession("cookie", ann.user.ID)
	ok(t, second(a.CreateSession(t.Context(), s)))
	ok(t, a.TouchSessions(t.Context(), nil))
	var many []adapter.SessionSeen
	for i := range 500 {
		many = append(many, adapter.SessionSeen{Digest: numbered("unknown", i), At: at(1)})
	}
	many = append(many, adapter.SessionSeen{Digest: s.Digest, At: at(5).Add(999)}, adapter.SessionSeen{Digest: ann.session.Digest, At: at(6)})
	ok(t, a.TouchSessions(t.Context(), many))
	ok(t, a.TouchSessions(t.Context(), []adapter.SessionSeen{{Digest: s.Digest, At: at(4)}, {Digest: ann.session.Digest, At: at(7)}}))
	s.Seen, ann.session.Seen = at(5), at(7)
	same(t, sessionsOf(t, a, ann.user.ID), map[string]adapter.SessionRecord{s.Digest: s, ann.session.Digest: ann.session})
	nWin(t, race(workers/8, func(i int) error {
		return a.TouchSessions(t.Context(), []adapter.SessionSeen{{Digest: s.Digest, At: at(10 + i)}, {Digest: ann.session.Digest, At: at(10 + i)}})
	}), workers/8, nil)
	same(t, sessionsOf(t, a, ann.user.ID)[s.Digest].Seen, at(10+workers/8-1))

	_, err := a.DeleteSession(t.Context(), ann.session.SessionToken)
	ok(t, err)
	ok(t, a.TouchSessions(t.Context(), []adapter.SessionSeen{{Digest: ann.session.Digest, At: at(99)}})) // does not restore it
	same(t, len(sessionsOf(t, a, ann.user.ID)), 1)
}

func sessionDeleteOf(t *testing.T, a adapter.Adapter) {
	ann, bob := signUp(t, a, "ann"), signUp(t, a, "bob")
	s := cookieSession("cookie", ann.user.ID)
	ok(t, second(a.CreateSession(t.Context(), s)))
	for _, digest := range []string{s.Digest, ann.session.Digest} {
		is(t, second(a.DeleteSessionOf(t.Context(), bob.user.ID, digest)), adapter.ErrNotFound)
		is(t, second(a.DeleteSessionOf(t.Context(), "nobody", digest)), adapter.ErrNotFound)
	}
	is(t, second(a.DeleteSessionOf(t.Context(), ann.user.ID, "digest-none")), adapter.ErrNotFound)
	is(t, second(a.DeleteSessionOf(t.Context(), ann.user.ID, "")), adapter.ErrNotFound)
	for _, want := range []adapter.SessionRecord{s, ann.session} {
		got, err := a.DeleteSessionOf(t.Context(), ann.user.ID, want.Digest)
		ok(t, err)
		got.Epoch = 0
		same(t, got, want)
		is(t, second(a.DeleteSessionOf(t.Context(), ann.user.ID, want.Digest)), adapter.ErrNotFound)
	}
	_, _, err := a.GetSession(t.Context(), ann.session.SessionToken, ann.session.Digest)
	is(t, err, adapter.ErrNotFound)
	same(t, len(sessionsOf(t, a, ann.user.ID)), 0)
	checkUnchanged(t, a, bob)
}

func sessionDeleteOfRace(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	s := cookieSession("cookie", ann.user.ID)
	ok(t, second(a.CreateSession(t.Context(), s)))
	for _, digest := range []string{s.Digest, ann.session.Digest} {
		oneWins(t, race(workers, func(int) error {
			return second(a.DeleteSessionOf(t.Context(), ann.user.ID, digest))
		}), adapter.ErrNotFound)
	}
}

func mailAlone(t *testing.T, a adapter.Adapter) {
	m := adapter.Mail{ID: "notice", Payload: []byte("p"), Due: at(0), Expires: at(60), Attempts: 1}
	ok(t, a.PutMail(t.Context(), m, 2))
	is(t, a.PutMail(t.Context(), m, 2), adapter.ErrConflict)
	putLink(t, a, "ann@example.com", "link")
	m.ID = "late"
	is(t, a.PutMail(t.Context(), m, 2), adapter.ErrQueueFull)
	large := m
	large.Payload = make([]byte, 64<<10+1)
	failed(t, a.PutMail(t.Context(), large, 10))
	ok(t, a.VoidTokens(t.Context(), "ann@example.com")) // affects only links
	got, err := a.ClaimMail(t.Context(), at(0), at(9))
	ok(t, err)
	same(t, got, adapter.Mail{ID: "notice", Payload: []byte("p"), Due: at(9), Expires: at(60), Attempts: 2})
	ok(t, a.DeleteMail(t.Context(), "notice"))
	_, err = a.ClaimMail(t.Context(), at(9), at(10).Add(time.Hour))
	is(t, err, adapter.ErrNotFound)
}
