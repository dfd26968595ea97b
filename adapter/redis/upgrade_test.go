package redis

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
)

// An oldRevocation is a record as schema 1 kept it.
type oldRevocation struct {
	key                         string
	notBefore, written, expires time.Time
}

// oldStore makes a store of schema 1 that has revocations.
func oldStore(t *testing.T, url string, list []oldRevocation) (prefix string) {
	t.Helper()
	prefix = newPrefix()
	s := open(t, url, prefix)
	pipe := s.client.Pipeline()
	pipe.Set(t.Context(), s.tag+"schema", "1", 0)
	for _, r := range list {
		name := s.key("revocation", r.key)
		pipe.Do(t.Context(), "hset", name, "key", r.key, "not_before", millis(r.notBefore), "written", millis(r.written), "expires", millis(r.expires))
		pipe.PExpireAt(t.Context(), name, r.expires.Add(24*time.Hour))
		pipe.Do(t.Context(), "zadd", s.key("expiry", "revocation"), millis(r.expires), r.key)
		pipe.Do(t.Context(), "zadd", s.tag+"revocations", millis(r.written), r.key)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	return prefix
}

// oldRevocations are n records of each kind, in the order of their writing.
func oldRevocations(n int) (list []oldRevocation) {
	now := stored(time.Now())
	for i := range n {
		for _, key := range []string{"sid:s%d", "user:u%d", "nosid:u%d", "by:github:u%d", "by::v%d"} {
			at := now.Add(-time.Hour + time.Duration(len(list))*time.Millisecond)
			list = append(list, oldRevocation{fmt.Sprintf(key, i), at.Add(-time.Second), at, now.Add(time.Hour)})
		}
	}
	return list
}

// wholeLog reads the log in pages.
func wholeLog(t *testing.T, a authsvc.Adapter, after int64) (all []authsvc.Revocation, next int64) {
	t.Helper()
	for {
		list, next, err := a.Revocations(t.Context(), after, 7)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, list...)
		if next == after {
			return all, next
		}
		after = next
	}
}

// moved checks that a log has all old records, in order, and nothing else.
func moved(t *testing.T, s *Store, want []oldRevocation) {
	t.Helper()
	got, _ := wholeLog(t, s, 0)
	if len(got) != len(want) {
		t.Fatalf("%d records of %d", len(got), len(want))
	}
	for i, r := range got {
		if r.Key != want[i].key || !r.NotBefore.Equal(want[i].notBefore) || !r.Expires.Equal(want[i].expires) || r.Seq == 0 {
			t.Fatalf("record %d is %v, was %v", i, r, want[i])
		}
	}
	for _, name := range keys(t, s) {
		if kind := kind(s, name); kind == "revocation" || kind == "revocations" || name == s.key("expiry", "revocation") {
			t.Errorf("%s is left", name)
		}
	}
	if version := s.client.Get(t.Context(), s.tag+"schema").Val(); version != "2" {
		t.Errorf("schema %s", version)
	}
}

// Revocations of an earlier version are in the log after the start.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		want := oldRevocations(moveBatch/5 + 3)
		s := open(t, url, oldStore(t, url, want))
		moved(t, s, want)
		// A user's epoch is that of the latest record, so that new sessions count.
		byKey := map[string]int64{}
		list, _ := wholeLog(t, s, 0)
		for _, r := range list {
			byKey[r.Key] = r.Seq
		}
		if _, err := s.CreateUser(t.Context(), authsvc.User{ID: "u1"}); err != nil {
			t.Fatal(err)
		}
		u, err := s.GetUser(t.Context(), "u1")
		if err != nil || u.Epoch != byKey["by:github:u1"] || u.SessionEpoch != byKey["user:u1"] {
			t.Errorf("%v, %v", u, err)
		}
		if epoch, err := s.GetEpoch(t.Context(), "v1"); err != nil || epoch != byKey["by::v1"] {
			t.Errorf("epoch %d, %v", epoch, err)
		}
		if n, err := s.Sweep(t.Context(), time.Now().Add(2*time.Hour), 10_000); err != nil || n != len(want) {
			t.Errorf("swept %d, %v", n, err)
		}
	})
}

// Any number of processes may start at once.
func TestUpgradeConcurrent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		want := oldRevocations(moveBatch)
		prefix := oldStore(t, url, want)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { moved(t, open(t, url, prefix), want) })
		}
		wg.Wait()
	})
}

// A start that broke off is finished by the next one. What a process of the
// earlier version wrote after it counts from the next start, and a record of a
// key that has been revoked again keeps the later end.
func TestUpgradeBroken(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		want := oldRevocations(moveBatch)
		prefix := oldStore(t, url, want)
		half := open(t, url, newPrefix())
		half.tag = "{" + prefix + "}:"
		if n, err := half.count(t.Context(), logMove, []string{half.tag + "revocations"}, moveBatch); err != nil || n != moveBatch {
			t.Fatalf("moved %d, %v", n, err)
		}
		s := open(t, url, prefix)
		moved(t, s, want)

		if err := s.Revoke(t.Context(), &authsvc.Revocation{Key: "sid:s0", NotBefore: time.Now(), Expires: time.Now()}); err != nil {
			t.Fatal(err)
		}
		list, _ := wholeLog(t, s, 0)
		if last := list[len(list)-1]; len(list) != len(want) || last.Key != "sid:s0" || !last.Expires.Equal(want[0].expires) {
			t.Errorf("%d records, the last is %v", len(list), last)
		}
	})
}

// What died of old age before the start is passed over.
func TestUpgradeDead(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		want := oldRevocations(1)
		prefix := oldStore(t, url, want)
		s := open(t, url, newPrefix())
		s.client.Del(t.Context(), "{"+prefix+"}:revocation:"+want[0].key)
		moved(t, open(t, url, prefix), want[1:])
	})
}

// Revocations that an earlier version kept in the Redis of session.store still
// end the tokens of their time: they come first, and without a number, which
// would judge tokens that note an epoch of main.
func TestBesideUpgrade(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		want := oldRevocations(5)
		store := open(t, url, oldStore(t, url, want))
		a := Beside(memory.New(), store)
		list, cursor := wholeLog(t, a, 0)
		if len(list) != len(want) || cursor >= 0 {
			t.Fatalf("%d records, cursor %d", len(list), cursor)
		}
		for i, r := range list {
			if r.Key != want[i].key || !r.NotBefore.Equal(want[i].notBefore) || r.Seq != 0 {
				t.Errorf("record %d is %v", i, r)
			}
		}
		if epoch, err := a.GetEpoch(t.Context(), "u1"); err != nil || epoch != 0 {
			t.Errorf("epoch %d, %v", epoch, err)
		}
		first, second := about("u1"), about("u2")
		if err := a.Revoke(t.Context(), first, second); err != nil {
			t.Fatal(err)
		}
		list, cursor = wholeLog(t, a, cursor)
		if len(list) != 2 || list[0].Seq != first.Seq || list[1].Seq != second.Seq || cursor != second.Seq {
			t.Errorf("then %v, cursor %d", list, cursor)
		}
		if list, _ = wholeLog(t, a, 0); len(list) != len(want)+2 {
			t.Errorf("%d records from the beginning", len(list))
		}
	})
}

// Losing the Redis of session.store brings no session back, neither a stored
// one nor a token that was revoked.
func TestBesideRedisLost(t *testing.T) {
	t.Parallel()
	a, _, s := together(t)
	signedUp(t, a)
	sid := &authsvc.Revocation{Key: "sid:1", NotBefore: time.Now(), Expires: time.Now().Add(time.Hour)}
	if err := a.Revoke(t.Context(), sid); err != nil {
		t.Fatal(err)
	}
	if _, err := a.EndSessions(t.Context(), "u", about("u")); err != nil {
		t.Fatal(err)
	}
	if err := s.client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	signedIn(t, a, "s", false)
	list, _ := wholeLog(t, a, 0)
	if len(list) != 2 || list[0].Key != "sid:1" || list[1].Key != "user:u" {
		t.Errorf("revocations %v", list)
	}
	comesBack(t, a)
}

// The clock that counts is that of main, if it has one.
func TestBesideClock(t *testing.T) {
	t.Parallel()
	whole := open(t, miniURL(t), newPrefix())
	for _, c := range []struct {
		main         authsvc.Adapter
		clock, audit bool
	}{
		{memory.New(), false, true},
		{whole, true, true},
		{struct{ authsvc.Adapter }{memory.New()}, false, false},
		{struct {
			authsvc.Adapter
			authsvc.Clock
		}{memory.New(), whole}, true, false},
	} {
		a := Beside(c.main, whole)
		_, clock := a.(authsvc.Clock)
		_, audit := a.(authsvc.AuditLog)
		if clock != c.clock || audit != c.audit {
			t.Errorf("%T: clock %v, audit %v", c.main, clock, audit)
		}
	}
}

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

// A server that lost its latest writes, and with them the counter, gives no
// number out again: who reads on hears of what comes next, and it covers
// tokens that note a lost number.
func TestNumbersNeverReturn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		lost := about("u")
		if err := s.Revoke(t.Context(), lost); err != nil {
			t.Fatal(err)
		}
		for _, name := range keys(t, s) {
			s.client.Del(t.Context(), name)
		}
		next := about("u")
		if err := s.Revoke(t.Context(), next); err != nil || next.Seq <= lost.Seq {
			t.Fatalf("%d after %d, %v", next.Seq, lost.Seq, err)
		}
		if list, _ := wholeLog(t, s, lost.Seq); len(list) != 1 || list[0].Seq != next.Seq {
			t.Errorf("read on: %v", list)
		}
		// Nor does a clock that is set back.
		s.client.Set(t.Context(), s.tag+"seq", "4000000000000000", 0)
		if err := s.Revoke(t.Context(), next, lost); err != nil || next.Seq != 4000000000000001 || lost.Seq != 4000000000000002 {
			t.Errorf("%d, %d, %v", next.Seq, lost.Seq, err)
		}
	})
}

// A log that cannot be read is an error, never a gap.
func TestLogUnreadable(t *testing.T) {
	t.Parallel()
	s := open(t, miniURL(t), newPrefix())
	if err := s.Revoke(t.Context(), about("u")); err != nil {
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

// An epoch lives as long as the record of its user that lives longest.
func TestTimeToLiveOfEpoch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		long, short := about("u"), about("u")
		long.Expires, short.Key = time.Now().Add(700*time.Hour), "by:github:u"
		if err := s.Revoke(t.Context(), long, short); err != nil {
			t.Fatal(err)
		}
		for _, name := range keys(t, s) {
			expires := long.Expires
			if strings.HasSuffix(name, short.Key) {
				expires = short.Expires
			} else if k := kind(s, name); k != "epoch" && k != "revoked" {
				continue
			}
			ttl := s.client.PTTL(t.Context(), name).Val()
			if late := ttl - time.Until(expires) - 24*time.Hour; late.Abs() > 10*time.Second {
				t.Errorf("%s dies in %v, which is %v late", name, ttl, late)
			}
		}
		// When it died the user is as at the beginning.
		s.client.Del(t.Context(), s.key("epoch", "u"))
		if epoch, err := s.GetEpoch(t.Context(), "u"); epoch != 0 || err != nil {
			t.Errorf("epoch %d, %v", epoch, err)
		}
	})
}

// When the key of a record died of old age before it was swept, sweeping the
// record leaves a later one of that key alone.
func TestSweepOfEarlierRecord(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		s := open(t, url, newPrefix())
		old, later, last := about("u"), about("u"), about("u")
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
