package adaptertest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"authsvc/adapter"
)

func upkeepTests() []test {
	return []test{
		{"PutMeta/first wins", metaFirst},
		{"PutMeta/concurrent", metaRace},
		{"SetMeta/replaces", metaReplace},
		{"GetMeta/unknown", metaUnknown},
		{"Sweep/every kind and nothing alive", sweepKinds},
		{"Sweep/limit", sweepLimit},
		{"Ping", ping},
	}
}

func metaFirst(t *testing.T, a adapter.Adapter) {
	for _, step := range [][3]string{
		{"k", "v", "v"}, {"k", "w", "v"}, {"K", "w", "w"}, {"k ", "", ""}, {"k ", "x", ""}, {"long", long("é"), long("é")},
	} {
		got, err := a.PutMeta(t.Context(), step[0], step[1])
		ok(t, err)
		same(t, got, step[2])
	}
}

func metaReplace(t *testing.T, a adapter.Adapter) {
	for _, value := range []string{"new", "other", ""} {
		ok(t, a.SetMeta(t.Context(), "k", value))
		got, err := a.PutMeta(t.Context(), "k", "late")
		ok(t, err)
		same(t, got, value)
		got, err = a.GetMeta(t.Context(), "k")
		ok(t, err)
		same(t, got, value)
	}
}

func metaUnknown(t *testing.T, a adapter.Adapter) {
	ok(t, a.SetMeta(t.Context(), "k", "v"))
	if v, err := a.GetMeta(t.Context(), "K"); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("another key: %q, %v", v, err)
	}
}

func metaRace(t *testing.T, a adapter.Adapter) {
	var mu sync.Mutex
	got := map[string]bool{}
	errs := race(workers, func(i int) error {
		v, err := a.PutMeta(t.Context(), "k", numbered("v", i))
		mu.Lock()
		defer mu.Unlock()
		got[v] = true
		return err
	})
	nWin(t, errs, workers, nil)
	same(t, len(got), 1)
}

// sweepable stores one record of each kind, which ends at ends.
func sweepable(t *testing.T, a adapter.Adapter, userID, name string, ends int) {
	t.Helper()
	s := session(name)
	s.UserID, s.Expires = userID, at(ends)
	_, err := a.CreateSession(t.Context(), s)
	ok(t, err)
	ok(t, a.PutToken(t.Context(), adapter.VerificationToken{Identifier: "ann@example.com", Token: name, Expires: at(ends)},
		adapter.Mail{ID: name, Due: at(0), Expires: at(ends)}, 1000))
	ok(t, a.UseOnce(t.Context(), name, at(ends)))
	ok(t, a.Revoke(t.Context(), revocation(name, 0, ends)))
	_, _, err = a.Permit(t.Context(), at(ends-10), adapter.Quota{Key: name, Interval: 10 * time.Second})
	ok(t, err)
	ok(t, a.Lease(t.Context(), name, "ann", at(ends-10), at(ends)))
	cookie := cookieSession("cookie-"+name, userID)
	cookie.Expires = at(ends)
	ok(t, second(a.CreateSession(t.Context(), cookie)))
	c := credential("undo", name, userID)
	c.Expires = at(ends)
	ok(t, a.PutCredential(t.Context(), c, 0, 1000))
}

const kinds = 9 // kinds of records that sweepable stores

func sweepKinds(t *testing.T, a adapter.Adapter) {
	u := newUser(t, a, "ann")
	acc := account("ann")
	acc.UserID = u.ID
	acc, err := a.LinkAccount(t.Context(), acc, 0)
	ok(t, err)
	forever := credential("passkey", "forever", u.ID)
	forever.Expires = time.Time{}
	ok(t, a.PutCredential(t.Context(), forever, 0, 1))
	sweepable(t, a, u.ID, "old", 99)
	sweepable(t, a, u.ID, "just", 100)
	sweepable(t, a, u.ID, "new", 101)
	n, err := a.Sweep(t.Context(), at(100), 1000)
	ok(t, err)
	same(t, n, kinds)

	_, _, err = a.GetSession(t.Context(), "token-old", "digest-old")
	is(t, err, adapter.ErrNotFound)
	is(t, a.DelayMail(t.Context(), "old", at(0)), adapter.ErrNotFound)
	same(t, links(t, a, "ann@example.com", "old"), 0)
	ok(t, a.UseOnce(t.Context(), "old", at(1000)))
	same(t, revoked(t, a), []string{"just", "new"})
	ok(t, a.Lease(t.Context(), "old", "bob", at(0), at(60))) // from a clock that is behind
	permitted(t, a, "old", at(0), 0)
	var sessions []string
	for digest := range sessionsOf(t, a, u.ID) {
		sessions = append(sessions, digest)
	}
	slices.Sort(sessions)
	same(t, sessions, []string{"digest-cookie-just", "digest-cookie-new", "digest-just", "digest-new"})
	p, err := a.GetPerson(t.Context(), u.ID)
	ok(t, err)
	var credentials []string
	for _, c := range p.Credentials {
		credentials = append(credentials, c.ID)
	}
	same(t, credentials, []string{"forever", "just", "new"})

	for _, name := range []string{"just", "new"} {
		_, _, err = a.GetSession(t.Context(), "token-"+name, "digest-"+name)
		ok(t, err)
		ok(t, a.DelayMail(t.Context(), name, at(0)))
		same(t, links(t, a, "ann@example.com", name), 1)
		is(t, a.UseOnce(t.Context(), name, at(1000)), adapter.ErrConflict)
		is(t, a.Lease(t.Context(), name, "bob", at(0), at(60)), adapter.ErrConflict)
		_, wait, err := a.Permit(t.Context(), at(0), adapter.Quota{Key: name, Interval: time.Second})
		ok(t, err)
		same(t, wait > 0, true)
	}
	list, err := a.ListAccounts(t.Context(), u.ID)
	ok(t, err)
	same(t, list, []adapter.Account{acc})

	s := session("old") // the swept records leave nothing behind
	s.UserID = u.ID
	_, err = a.CreateSession(t.Context(), s)
	ok(t, err)
}

func sweepLimit(t *testing.T, a adapter.Adapter) {
	u := newUser(t, a, "ann")
	for i := range 3 {
		sweepable(t, a, u.ID, numbered("old", i), 0)
	}
	n, err := a.Sweep(t.Context(), at(100), 0)
	ok(t, err)
	same(t, n, 0)
	total := 0
	for range 3 * kinds {
		n, err := a.Sweep(t.Context(), at(100), 4)
		ok(t, err)
		if n > 4 {
			t.Fatalf("swept %d, limit 4", n)
		}
		total += n
	}
	same(t, total, 3*kinds)
}

func ping(t *testing.T, a adapter.Adapter) {
	ok(t, a.Ping(t.Context()))
}
