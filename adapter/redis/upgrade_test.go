package redis

import (
	"fmt"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"authsvc/adapter"
	"authsvc/adapter/memory"
)

// An oldRevocation is a revocation record of schema 1.
type oldRevocation struct {
	key                         string
	notBefore, written, expires time.Time
}

// oldStore creates a store of schema 1 that has revocations.
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

// oldRevocations returns n records of each kind, in the order in which they were
// written.
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
func wholeLog(t *testing.T, a adapter.Adapter, after int64) (all []adapter.Revocation, next int64) {
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

// checkMoved checks that a log contains all old records, in order, and nothing else.
func checkMoved(t *testing.T, s *Store, want []oldRevocation) {
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
	if version := s.client.Get(t.Context(), s.tag+"schema").Val(); version != fmt.Sprint(schemaVersion) {
		t.Errorf("schema %s", version)
	}
}

// TestUpgrade checks that Open moves the revocations of schema 1 into the log.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		want := oldRevocations(moveBatch/5 + 3)
		s := open(t, url, oldStore(t, url, want))
		checkMoved(t, s, want)
		// A user's epoch is the number of the latest record, so that new sessions are
		// valid.
		byKey := map[string]int64{}
		list, _ := wholeLog(t, s, 0)
		for _, r := range list {
			byKey[r.Key] = r.Seq
		}
		if _, err := s.CreateUser(t.Context(), adapter.User{ID: "u1"}, nil); err != nil {
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

// TestUpgradeConcurrent checks that several processes can start at once.
func TestUpgradeConcurrent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		want := oldRevocations(moveBatch)
		prefix := oldStore(t, url, want)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() { checkMoved(t, open(t, url, prefix), want) })
		}
		wg.Wait()
	})
}

// TestUpgradeBroken checks that the next start finishes an interrupted one, and moves
// records written meanwhile by a process of the earlier version. A key that was revoked
// again keeps the later expiry.
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
		checkMoved(t, s, want)

		if err := s.Revoke(t.Context(), &adapter.Revocation{Key: "sid:s0", NotBefore: time.Now(), Expires: time.Now()}); err != nil {
			t.Fatal(err)
		}
		list, _ := wholeLog(t, s, 0)
		if last := list[len(list)-1]; len(list) != len(want) || last.Key != "sid:s0" || !last.Expires.Equal(want[0].expires) {
			t.Errorf("%d records, the last is %v", len(list), last)
		}
	})
}

// TestUpgradeAddresses checks that Open lists the addresses of users of schema 2, also
// after an interrupted Open, and that a store without users needs no upgrade.
func TestUpgradeAddresses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		prefix := newPrefix()
		s := open(t, url, prefix)
		if n := s.client.Exists(t.Context(), s.tag+"addresses-listed").Val(); n != 0 {
			t.Error("a new store has an upgrade")
		}
		const users = searchPage + 3
		pipe := s.client.Pipeline()
		for i := range users {
			id, email := fmt.Sprintf("u%04d", i), fmt.Sprintf("ada%d@example.com", i)
			pipe.HSet(t.Context(), s.key("user", id), "id", id, "name", "", "email", email, "verified", "", "image", "")
			pipe.ZAdd(t.Context(), s.tag+"users", goredis.Z{Member: id})
			pipe.Set(t.Context(), s.key("email", email), id, 0)
		}
		pipe.Set(t.Context(), s.tag+"schema", "2", 0)
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		ada := func(a *Store) int {
			t.Helper()
			found, err := a.SearchUsers(t.Context(), adapter.UserQuery{Prefix: "ada", Limit: 2 * users})
			if err != nil {
				t.Fatal(err)
			}
			return len(found)
		}
		if n := ada(s); n != 0 {
			t.Fatalf("%d users of schema 2 are listed", n)
		}
		keys := []string{s.tag + "schema", s.tag + "addresses-listed"}
		if _, err := s.list(t.Context(), schemaStep, keys, schemaVersion); err != nil {
			t.Fatal(err)
		}
		if n, err := s.count(t.Context(), addressesList, keys[1:], searchPage); err != nil || n != searchPage { // then the process ends
			t.Fatalf("listed %d, %v", n, err)
		}
		if n := ada(open(t, url, prefix)); n != users {
			t.Errorf("%d users of %d after the next start", n, users)
		}
		if n := s.client.Exists(t.Context(), keys[1]).Val(); n != 0 {
			t.Error("the upgrade is not finished")
		}
	})
}

// TestUpgradeDead checks that records whose time to live has passed are skipped.
func TestUpgradeDead(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, url string) {
		want := oldRevocations(1)
		prefix := oldStore(t, url, want)
		s := open(t, url, newPrefix())
		s.client.Del(t.Context(), "{"+prefix+"}:revocation:"+want[0].key)
		checkMoved(t, open(t, url, prefix), want[1:])
	})
}

// TestBesideUpgrade checks that revocations that an earlier version kept in the Redis
// of session.store still end tokens without an epoch. They come first, and have no
// number, since it would be compared with main's epochs.
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
		first, second := endSessionsOf("u1"), endSessionsOf("u2")
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
