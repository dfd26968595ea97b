package redis

import (
	"testing"
	"time"
)

func TestClock(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		began := time.Now().Add(-time.Second) // the servers run on this machine
		now, err := s.Now(t.Context())
		if err != nil || now.Before(began) || now.After(time.Now().Add(time.Second)) {
			t.Errorf("%v, %v", now, err)
		}
	})
}

// TestNumbersNeverReturn checks that a server that lost its latest writes and the
// counter repeats no number. Readers therefore receive later revocations, which cover
// tokens with a lost number.
func TestNumbersNeverReturn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		lost := endSessionsOf("u")
		if err := s.Revoke(t.Context(), lost); err != nil {
			t.Fatal(err)
		}
		for _, name := range keys(t, s) {
			s.client.Del(t.Context(), name)
		}
		next := endSessionsOf("u")
		if err := s.Revoke(t.Context(), next); err != nil || next.Seq <= lost.Seq {
			t.Fatalf("%d after %d, %v", next.Seq, lost.Seq, err)
		}
		if list, _ := wholeLog(t, s, lost.Seq); len(list) != 1 || list[0].Seq != next.Seq {
			t.Errorf("read on: %v", list)
		}
		// A clock that was set back repeats no number either.
		s.client.Set(t.Context(), s.tag+"seq", "4000000000000000", 0)
		if err := s.Revoke(t.Context(), next, lost); err != nil || next.Seq != 4000000000000001 || lost.Seq != 4000000000000002 {
			t.Errorf("%d, %d, %v", next.Seq, lost.Seq, err)
		}
	})
}

// TestLogUnreadable checks that an unreadable log is an error, never a gap.
func TestLogUnreadable(t *testing.T) {
	t.Parallel()
	s := open(t, miniURL(t), newPrefix())
	if err := s.Revoke(t.Context(), endSessionsOf("u")); err != nil {
		t.Fatal(err)
	}
	for i, entry := range []string{"", "x", "1 2 3", "1 2 x 0:k", "1 2 3 x:k", "1 2 3 -1:k", "1 2 3 2:k", "1 2  3 0:k"} {
		z := s.tag + "log"
		s.client.Do(t.Context(), "zadd", z, i+1, entry)
		if list, next, err := s.Revocations(t.Context(), 0, 10); err == nil || next != 0 || len(list) != 0 {
			t.Errorf("%q: %v, %d, %v", entry, list, next, err)
		}
		s.client.ZRem(t.Context(), z, entry)
	}
	if list, _ := wholeLog(t, s, 0); len(list) != 1 {
		t.Errorf("%v", list)
	}
}

// TestSweepOfEarlierRecord checks that, if a record expired before it was swept, Sweep
// keeps a later record of the same key.
func TestSweepOfEarlierRecord(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		old, later, last := endSessionsOf("u"), endSessionsOf("u"), endSessionsOf("u")
		old.Expires = time.Now().Add(-time.Hour)
		if err := s.Revoke(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		s.client.Del(t.Context(), s.key("revoked", old.Key))
		if err := s.Revoke(t.Context(), later); err != nil {
			t.Fatal(err)
		}
		if n, err := s.Sweep(t.Context(), time.Now(), 10); n != 1 || err != nil {
			t.Errorf("swept %d, %v", n, err)
		}
		if err := s.Revoke(t.Context(), last); err != nil {
			t.Fatal(err)
		}
		if list, _ := wholeLog(t, s, 0); len(list) != 1 || list[0].Seq != last.Seq {
			t.Errorf("not merged: %v", list)
		}
	})
}
