package adaptertest

import (
	"errors"
	"testing"
	"time"

	"authsvc/adapter"
)

func tokenTests() []test {
	return []test{
		{"Token/every field", tokenEveryField},
		{"Token/unknown", tokenUnknown},
		{"Token/looking at one takes nothing", tokenLook},
		{"Token/unique", tokenUnique},
		{"Token/byte for byte", tokenExact},
		{"Token/taken once", tokenOnce},
		{"Token/concurrent take", tokenRace},
		{"Token/taken with the others", tokenOthers},
		{"Token/taken when expired", tokenExpired},
		{"Token/taken with its user", tokenUser},
		{"Token/concurrent take of different ones", tokenRaces},
		{"Token/voided with their mails", tokenVoid},
		{"Token/voided while they are taken", tokenVoidRace},
		{"Token/queue full", tokenFull},
		{"Token/queue full under concurrency", tokenFullRace},
		{"Token/payload too long", tokenPayload},
	}
}

func tokenEveryField(t *testing.T, a adapter.Adapter) {
	expired := adapter.VerificationToken{Identifier: "ann@example.com", Token: "t1", Expires: time.Date(2001, 9, 9, 1, 46, 39, 999_999_999, time.UTC)}
	ok(t, a.PutToken(t.Context(), expired, adapter.Mail{ID: "t1", Due: at(0), Expires: at(60)}, 10))
	got, _, err := a.TakeToken(t.Context(), expired.Identifier, expired.Token, at(0))
	ok(t, err)
	expired.Expires = expired.Expires.Truncate(time.Millisecond)
	same(t, got, expired)
	if got.Expires.Location() != time.UTC {
		t.Error("time is not in UTC")
	}
}

func tokenUnknown(t *testing.T, a adapter.Adapter) {
	link := putLink(t, a, "ann@example.com", "t1")
	for _, pair := range [][2]string{{"bob@example.com", "t1"}, {"ann@example.com", "t2"}, {"t1", "ann@example.com"}, {"", "t1"}, {"ann@example.com", ""}} {
		_, _, err := a.TakeToken(t.Context(), pair[0], pair[1], at(0))
		is(t, err, adapter.ErrNotFound)
		_, err = a.GetToken(t.Context(), pair[0], pair[1])
		is(t, err, adapter.ErrNotFound)
	}
	got, _, err := a.TakeToken(t.Context(), link.Identifier, link.Token, at(0)) // the failed calls used up nothing
	ok(t, err)
	same(t, got, link)
}

// tokenLook checks that GetToken returns the same token as TakeToken would, until it is
// taken or void.
func tokenLook(t *testing.T, a adapter.Adapter) {
	expired := adapter.VerificationToken{Identifier: "ann@example.com", Token: "t1", Expires: time.Date(2001, 9, 9, 1, 46, 39, 999_999_999, time.UTC)}
	ok(t, a.PutToken(t.Context(), expired, adapter.Mail{ID: "t1", Due: at(0), Expires: at(60)}, 10))
	ok(t, a.DeleteMail(t.Context(), "t1")) // sent
	putLink(t, a, "ann@example.com", "t2")
	putLink(t, a, "bob@example.com", "t3")
	look := func(email, token string) (adapter.VerificationToken, error) {
		return a.GetToken(t.Context(), email, token)
	}
	seen, err := look("ann@example.com", "t1")
	ok(t, err)
	if seen.Expires.Location() != time.UTC {
		t.Error("time is not in UTC")
	}
	nWin(t, race(workers, func(int) error { _, err := look("ann@example.com", "t1"); return err }), workers, nil)
	taken, _, err := a.TakeToken(t.Context(), "ann@example.com", "t1", at(0)) // reading used up nothing
	ok(t, err)
	same(t, seen, taken)
	_, err = look("ann@example.com", "t1")
	is(t, err, adapter.ErrNotFound)
	_, err = look("ann@example.com", "t2")
	ok(t, err)
	ok(t, a.VoidTokens(t.Context(), "ann@example.com"))
	_, err = look("ann@example.com", "t2")
	is(t, err, adapter.ErrNotFound)
	_, err = look("bob@example.com", "t3")
	ok(t, err)
	same(t, queued(t, a), []string{"t3"})
}

func tokenUnique(t *testing.T, a adapter.Adapter) {
	putLink(t, a, "ann@example.com", "t1")
	for _, email := range []string{"ann@example.com", "bob@example.com"} {
		err := a.PutToken(t.Context(), adapter.VerificationToken{Identifier: email, Token: "t1", Expires: at(1)},
			adapter.Mail{ID: "other", Due: at(0), Expires: at(60)}, 10)
		is(t, err, adapter.ErrConflict)
	}
	// If the mail's id is taken, the token is refused, too.
	err := a.PutToken(t.Context(), adapter.VerificationToken{Identifier: "bob@example.com", Token: "t2", Expires: at(1)},
		adapter.Mail{ID: "t1", Due: at(0), Expires: at(60)}, 10)
	is(t, err, adapter.ErrConflict)
	same(t, links(t, a, "bob@example.com", "t1", "t2"), 0)
	same(t, queued(t, a), []string{"t1"})
	same(t, links(t, a, "ann@example.com", "t1"), 1)
	_ = putLink(t, a, "ann@example.com", "t3") // an address may have several tokens
}

func tokenExact(t *testing.T, a adapter.Adapter) {
	var stored []string
	for _, token := range lookalikes() {
		err := a.PutToken(t.Context(), adapter.VerificationToken{Identifier: "ann@example.com", Token: token, Expires: at(600)},
			adapter.Mail{ID: "mail of " + token, Due: at(0), Expires: at(600)}, 1000)
		if !refusesText(t, a, err, func() error { _, _, err := a.TakeToken(t.Context(), "ann@example.com", token, at(0)); return err }) {
			stored = append(stored, token)
		}
	}
	same(t, links(t, a, "ann@example.com", stored...), len(stored))
	for i, email := range lookalikes() {
		putLink(t, a, email, numbered("token", i))
	}
	for i, email := range lookalikes() {
		other := lookalikes()[(i+1)%len(lookalikes())]
		same(t, links(t, a, other, numbered("token", i)), 0)
		same(t, links(t, a, email, numbered("token", i)), 1)
	}
}

func tokenOnce(t *testing.T, a adapter.Adapter) {
	link := putLink(t, a, "ann@example.com", "t1")
	_, _, err := a.TakeToken(t.Context(), link.Identifier, link.Token, at(0))
	ok(t, err)
	_, _, err = a.TakeToken(t.Context(), link.Identifier, link.Token, at(0))
	is(t, err, adapter.ErrNotFound)
}

func tokenRace(t *testing.T, a adapter.Adapter) {
	link := putLink(t, a, "ann@example.com", "t1")
	oneWins(t, race(100, func(int) error {
		_, _, err := a.TakeToken(t.Context(), link.Identifier, link.Token, at(0))
		return err
	}), adapter.ErrNotFound)
}

func tokenOthers(t *testing.T, a adapter.Adapter) {
	for _, token := range []string{"ann-1", "ann-2", "ann-3"} {
		putLink(t, a, "ann@example.com", token)
	}
	putLink(t, a, "bob@example.com", "bob-1")
	putLink(t, a, "Ann@example.com", "other-1")
	ok(t, a.DeleteMail(t.Context(), "ann-2")) // sent
	// Unknown tokens, and those of others, void nothing.
	for _, token := range []string{"ann-4", "bob-1"} {
		_, _, err := a.TakeToken(t.Context(), "ann@example.com", token, at(0))
		is(t, err, adapter.ErrNotFound)
	}
	_, _, err := a.TakeToken(t.Context(), "ann@example.com", "ann-2", at(600).Add(-time.Millisecond))
	ok(t, err)
	same(t, links(t, a, "ann@example.com", "ann-1", "ann-2", "ann-3"), 0)
	same(t, queued(t, a), []string{"bob-1", "other-1"})
	same(t, links(t, a, "bob@example.com", "bob-1"), 1)
	same(t, links(t, a, "Ann@example.com", "other-1"), 1)
}

func tokenExpired(t *testing.T, a adapter.Adapter) {
	for _, token := range []string{"ann-1", "ann-2", "ann-3"} {
		putLink(t, a, "ann@example.com", token)
	}
	ok(t, a.DeleteMail(t.Context(), "ann-2"))
	link, _, err := a.TakeToken(t.Context(), "ann@example.com", "ann-2", at(600)) // the first moment at which it has expired
	ok(t, err)
	same(t, link.Expires, at(600))
	same(t, queued(t, a), []string{"ann-1", "ann-3"})
	same(t, links(t, a, "ann@example.com", "ann-1", "ann-2", "ann-3"), 2)
}

// tokenUser checks that a token comes with the same user as GetUserByEmail returns, also
// an expired one, and with no other user.
func tokenUser(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	signUp(t, a, "bob")
	take := func(email, token string, now time.Time) adapter.User {
		t.Helper()
		putLink(t, a, email, token)
		_, u, err := a.TakeToken(t.Context(), email, token, now)
		ok(t, err)
		return u
	}
	same(t, take("carl@example.com", "carl", at(0)), adapter.User{})
	same(t, take(ann.user.Email, "ann", at(0)), ann.user)
	ok(t, a.SetPerson(t.Context(), ann.user.ID, adapter.PersonUpdate{Blocked: ptr(at(7))}, about(ann.user.ID)))
	want, err := a.GetUserByEmail(t.Context(), ann.user.Email)
	ok(t, err)
	if want.Epoch == 0 || want.Blocked.IsZero() {
		t.Errorf("the user has epoch %d and was blocked at %v", want.Epoch, want.Blocked)
	}
	same(t, take(ann.user.Email, "again", at(0)), want)
	same(t, take(ann.user.Email, "late", never), want)
	_, u, err := a.TakeToken(t.Context(), ann.user.Email, "unknown", at(0))
	is(t, err, adapter.ErrNotFound)
	same(t, u, adapter.User{})
}

// tokenRaces checks that one of several callers with different tokens gets its token,
// that the others get theirs or ErrNotFound, and that nothing is left.
func tokenRaces(t *testing.T, a adapter.Adapter) {
	ann := signUp(t, a, "ann")
	put, taken, users := make([]adapter.VerificationToken, workers), make([]adapter.VerificationToken, workers), make([]adapter.User, workers)
	for i := range workers {
		put[i] = putLink(t, a, ann.user.Email, numbered("t", i))
	}
	errs := race(workers, func(i int) (err error) {
		taken[i], users[i], err = a.TakeToken(t.Context(), ann.user.Email, numbered("t", i), at(0))
		return err
	})
	won := 0
	for i, err := range errs {
		if err == nil {
			won++
			same(t, taken[i], put[i])
			same(t, users[i], ann.user)
			ok(t, a.DeleteMail(t.Context(), numbered("t", i)))
		} else {
			is(t, err, adapter.ErrNotFound)
		}
		same(t, links(t, a, ann.user.Email, numbered("t", i)), 0)
	}
	if won == 0 {
		t.Error("no caller got its token")
	}
	same(t, len(queued(t, a)), 0)
}

func tokenVoid(t *testing.T, a adapter.Adapter) {
	ok(t, a.VoidTokens(t.Context(), "nobody@example.com"))
	for _, token := range []string{"ann-1", "ann-2", "ann-3"} {
		putLink(t, a, "ann@example.com", token)
	}
	putLink(t, a, "bob@example.com", "bob-1")
	putLink(t, a, "Ann@example.com", "other-1")
	same(t, links(t, a, "ann@example.com", "ann-1"), 1)
	ok(t, a.DeleteMail(t.Context(), "ann-1")) // sent
	ok(t, a.VoidTokens(t.Context(), "ann@example.com"))
	ok(t, a.VoidTokens(t.Context(), "ann@example.com"))
	same(t, links(t, a, "ann@example.com", "ann-1", "ann-2", "ann-3"), 0)
	same(t, queued(t, a), []string{"bob-1", "other-1"})
	same(t, links(t, a, "bob@example.com", "bob-1"), 1)
	same(t, links(t, a, "Ann@example.com", "other-1"), 1)
	putLink(t, a, "ann@example.com", "ann-2") // requested afterwards
	same(t, links(t, a, "ann@example.com", "ann-2"), 1)
}

// tokenVoidRace checks that every token is finally taken or void, however the calls
// overlap.
func tokenVoidRace(t *testing.T, a adapter.Adapter) {
	for i := range workers {
		putLink(t, a, "ann@example.com", numbered("t", i))
	}
	errs := race(workers, func(i int) error {
		_, _, err := a.TakeToken(t.Context(), "ann@example.com", numbered("t", i), at(0))
		if err != nil && !errors.Is(err, adapter.ErrNotFound) {
			return err
		}
		return a.VoidTokens(t.Context(), "ann@example.com")
	})
	nWin(t, errs, workers, nil)
	for i := range workers {
		same(t, links(t, a, "ann@example.com", numbered("t", i)), 0)
	}
}

func tokenFull(t *testing.T, a adapter.Adapter) {
	put := func(token string, maxQueued int) error {
		return a.PutToken(t.Context(), adapter.VerificationToken{Identifier: "ann@example.com", Token: token, Expires: at(1)},
			adapter.Mail{ID: token, Due: at(0), Expires: at(60)}, maxQueued)
	}
	is(t, put("none", 0), adapter.ErrQueueFull)
	ok(t, put("t1", 2))
	ok(t, put("t2", 2))
	is(t, put("t3", 2), adapter.ErrQueueFull)
	same(t, links(t, a, "ann@example.com", "none", "t3"), 0)
	ok(t, a.DeleteMail(t.Context(), "t1"))
	ok(t, put("t3", 2))
	same(t, links(t, a, "ann@example.com", "t1", "t2", "t3"), 3)
}

func tokenFullRace(t *testing.T, a adapter.Adapter) {
	const room = 10
	errs := race(workers, func(i int) error {
		token := numbered("t", i)
		return a.PutToken(t.Context(), adapter.VerificationToken{Identifier: "ann@example.com", Token: token, Expires: at(1)},
			adapter.Mail{ID: token, Due: at(0), Expires: at(60)}, room)
	})
	nWin(t, errs, room, adapter.ErrQueueFull)
	same(t, len(queued(t, a)), room)
	for i := range workers {
		left := links(t, a, "ann@example.com", numbered("t", i))
		if (left == 1) != (errs[i] == nil) {
			t.Errorf("token %d: stored %d times, error %v", i, left, errs[i])
		}
	}
}

func tokenPayload(t *testing.T, a adapter.Adapter) {
	put := func(token string, length int) error {
		return a.PutToken(t.Context(), adapter.VerificationToken{Identifier: "ann@example.com", Token: token, Expires: at(1)},
			adapter.Mail{ID: token, Payload: make([]byte, length), Due: at(0), Expires: at(60)}, 10)
	}
	ok(t, put("fits", 64<<10))
	failed(t, put("not", 64<<10+1))
	same(t, links(t, a, "ann@example.com", "fits", "not"), 1)
}
