package mongodb

import (
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"authsvc/adapter"
)

// TestReservedAccount checks that the account of an unfinished sign-up is reserved for
// pendingTimeout, and that a slower sign-up is undone.
func TestReservedAccount(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	slow := signUp{s.Store, bson.NewObjectID(), bson.NewObjectID(), bson.NewObjectID()}
	if err := s.check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := slow.insertAccount(t.Context(), testAccount("a"), slow.account, slow.user, bson.E{Key: pendingField, Value: date(s.now())}); err != nil {
		t.Fatal(err)
	}
	if s.linked(t, "a") {
		t.Error("an account without a user is taken for one")
	}
	if err := trySignUp(t, s, "a"); !errors.Is(err, adapter.ErrConflict) {
		t.Errorf("a fresh reservation was given away: %v", err)
	}
	if s.userExists(t, "a") || s.signedIn(t, "a") {
		t.Error("the refused one left something behind")
	}
	s.now = func() time.Time { return time.Now().Add(s.abandoned() + time.Second) }
	if err := trySignUp(t, s, "a"); err != nil {
		t.Errorf("an abandoned one was not: %v", err)
	}
	if err := slow.insertUser(t.Context(), adapter.User{Email: "slow@example.com"}, slow.user); err != nil {
		t.Fatal(err)
	}
	if err := slow.activateAccount(t.Context(), slow.account, slow.user, pendingField); !errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("the slow one has its account: %v", err)
	}
	slow.undo(t.Context(), adapter.User{}, true, &adapter.SessionRecord{SessionToken: "slow"})
	if s.userExists(t, "slow") || !s.userExists(t, "a") || !s.linked(t, "a") || !s.signedIn(t, "a") {
		t.Error("undoing took too little or too much")
	}
}

// TestSweepAccounts checks that Sweep removes accounts without a user and abandoned
// links, but not the account of a sign-up in progress.
func TestSweepAccounts(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	if err := trySignUp(t, s, "kept"); err != nil {
		t.Fatal(err)
	}
	user, err := s.user(t.Context(), s.userID(t, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	for id, marks := range map[string]bson.D{"lost": nil, "begun": by(pendingField, time.Now()), "abandoned": by(pendingField, time.Now().Add(-time.Hour))} {
		if err := s.insertAccount(t.Context(), testAccount(id), bson.NewObjectID(), bson.NewObjectID(), marks...); err != nil {
			t.Fatal(err)
		}
	}
	for id, began := range map[string]time.Time{"being linked": time.Now(), "not linked": time.Now().Add(-time.Hour)} {
		if err := s.insertAccount(t.Context(), testAccount(id), bson.NewObjectID(), user.key(), bson.E{Key: linkingField, Value: began}); err != nil {
			t.Fatal(err)
		}
		if s.linked(t, id) {
			t.Errorf("%s: it counts", id)
		}
	}
	if n, err := s.Sweep(t.Context(), time.Now(), 10); n != 3 || err != nil {
		t.Errorf("swept %d, %v", n, err)
	}
	for id, want := range map[string]bool{"kept": true, "begun": true, "lost": false, "abandoned": false, "being linked": true, "not linked": false} {
		if got := exists[document](t)(s.first(t.Context(), s.accounts(), s.identity("p", id))); got != want {
			t.Errorf("%s: %v", id, got)
		}
	}
}
