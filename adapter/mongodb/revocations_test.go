package mongodb

import (
	"errors"
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"authsvc/adapter"
)

// TestNumberWrittenLate checks that a revocation whose number is written after a higher
// one takes a new number, so that it covers sessions with the higher one.
func TestNumberWrittenLate(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	for name, key := range map[string]string{"same key": sessionsKey + "ann", "another key": "by:p:ann"} {
		slow, quick := endSessionsOf("ann"), endSessionsOf("ann")
		quick.Key = key
		s.proxy.before(3, func() { // 1: the least number; 2: the number; 3: the record
			if err := s.Revoke(t.Context(), quick); err != nil {
				t.Error(err)
			}
		})
		if err := s.Revoke(t.Context(), slow); err != nil {
			t.Error(err)
		}
		s.proxy.failNth(0, 0, false)
		if slow.Seq <= quick.Seq {
			t.Errorf("%s: %d, then %d", name, quick.Seq, slow.Seq)
		}
	}
}

// A listener follows the log and tracks the latest Seq of each key.
type listener struct {
	shared
	after int64
	heard map[string]int64
}

func (l *listener) read(t *testing.T) {
	t.Helper()
	list, next, err := l.Revocations(t.Context(), l.after, 3)
	if err != nil {
		t.Error(err)
	}
	for _, r := range list {
		l.heard[r.Key] = max(l.heard[r.Key], r.Seq)
	}
	l.after = next
}

func (l *listener) catchUp(t *testing.T) {
	t.Helper()
	for before := int64(-1); l.after != before; {
		before = l.after
		l.read(t)
	}
}

// TestLogMissesNothing checks that a reader that continues from its cursor receives
// every record with its final number, however reader and writers overlap.
func TestLogMissesNothing(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	l := &listener{shared: s, heard: map[string]int64{}}
	other := 0
	revoke := func(key string) *adapter.Revocation {
		r := endSessionsOf("ann")
		r.Key = key
		if err := s.Revoke(t.Context(), r); err != nil {
			t.Error(err)
		}
		return r
	}
	between := map[string]func(){
		"read":              func() { l.read(t) },
		"write, read":       func() { other++; revoke(fmt.Sprint("other ", other)); l.read(t) },
		"write same, read":  func() { revoke("same"); l.read(t) },
		"read, write, read": func() { l.read(t); other++; revoke(fmt.Sprint("other ", other)); l.read(t) },
	}
	for name, f := range between {
		for n, reached := 1, true; reached; n++ {
			reached = false
			s.proxy.before(n, func() { reached = true; f() })
			r := revoke("same") // written in between
			s.proxy.failNth(0, 0, false)
			l.catchUp(t)
			if l.heard["same"] < r.Seq {
				t.Errorf("%s before command %d: heard %d of %d", name, n, l.heard["same"], r.Seq)
			}
		}
	}
	for n, reached := 1, true; reached; n++ { // written during a read
		reached = false
		var r, o *adapter.Revocation
		s.proxy.before(n, func() {
			reached = true
			r, o = revoke("same"), revoke("after it")
		})
		l.read(t)
		s.proxy.failNth(0, 0, false)
		l.catchUp(t)
		if reached && (l.heard["same"] < r.Seq || l.heard["after it"] < o.Seq) {
			t.Errorf("written before command %d of a reader: heard %v, want %d and %d", n, l.heard, r.Seq, o.Seq)
		}
	}
}

// TestSlowWriter checks that a reader misses nothing while one writer has not published
// its record yet, but another has.
func TestSlowWriter(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	l := &listener{shared: s, heard: map[string]int64{}}
	slow := endSessionsOf("slow")
	var n int64
	s.proxy.before(3, func() { // 1: the number; 2: pending records; 3: published records
		err := s.raiseEpoch(t.Context(), slow, sessionRevocation)
		if err == nil {
			n, err = s.takeNumbers(t.Context(), 1)
		}
		if err == nil {
			err = s.Revoke(t.Context(), endSessionsOf("quick"))
		}
		if err != nil {
			t.Error(err)
		}
	})
	l.read(t)
	s.proxy.failNth(0, 0, false)
	if l.heard["user:quick"] == 0 {
		t.Error("the quick one is not heard yet")
	}
	if err := s.publishAt(t.Context(), slow, n); err != nil {
		t.Fatal(err)
	}
	l.catchUp(t)
	if l.heard[slow.Key] != slow.Seq {
		t.Errorf("heard %v", l.heard)
	}
}

// TestDeadWriter checks that a record whose writer died is in force, and that all
// readers receive it until the next writer publishes it.
func TestDeadWriter(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	linkedUser(t, s, "ann")
	r := endSessionsOf(s.userID(t, "ann"))
	s.proxy.failNth(3, answerAfter, true) // 1: the least number; 2: the number; 3: the record
	if _, err := s.EndSessions(t.Context(), r.UserID, r); err == nil {
		t.Fatal("not killed")
	}
	s.proxy.failNth(0, 0, false)
	if s.signedIn(t, "ann") {
		t.Error("the session is still valid")
	}
	if err := tryCreateSession(t, s, "ann"); !errors.Is(err, adapter.ErrConflict) { // the token still exists
		t.Errorf("got %v", err)
	}
	epoch, err := s.GetEpoch(t.Context(), r.UserID)
	if err != nil || epoch == 0 {
		t.Errorf("epoch %d, %v", epoch, err)
	}
	for range 2 {
		list, next, err := s.Revocations(t.Context(), 0, 10)
		if err != nil || next != 0 || len(list) != 1 || list[0].Seq != epoch || list[0].UserID != r.UserID {
			t.Errorf("got %+v, %d, %v", list, next, err)
		}
	}
	if n, err := s.EndSessions(t.Context(), r.UserID, r); n != 1 || err != nil {
		t.Errorf("ended %d, %v", n, err)
	}
	list, next, err := s.Revocations(t.Context(), 0, 10)
	if err != nil || next != r.Seq || len(list) != 1 || list[0].Seq != r.Seq {
		t.Errorf("got %+v, %d, %v", list, next, err)
	}
}

// TestLogSetBack checks that a reader starts again after the database was restored to
// an earlier state.
func TestLogSetBack(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	l := &listener{shared: s, heard: map[string]int64{}}
	for _, id := range []string{"a", "b", "c"} {
		if err := s.Revoke(t.Context(), endSessionsOf(id)); err != nil {
			t.Fatal(err)
		}
	}
	l.catchUp(t)
	if err := s.put(t.Context(), s.meta(), sequenceKey, bson.D{{Key: "$set", Value: by("seq", int64(2))}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.deleteAll(t.Context(), s.revocations(), among("_id", bson.A{"user:b", "user:c"})); err != nil {
		t.Fatal(err)
	}
	l.catchUp(t)
	r := endSessionsOf("d")
	if err := s.Revoke(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	l.catchUp(t)
	if l.heard["user:d"] != r.Seq {
		t.Errorf("heard %v", l.heard)
	}
}
