package mongodb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"authsvc/adapter"
)

// unmigrated opens a store on an empty database without migrating it.
func unmigrated(t *testing.T, o Options) shared {
	t.Helper()
	at, g := location(t)
	s := again(t, at, o)
	t.Cleanup(func() {
		g.failNth(0, 0, false)
		if err := s.db.Drop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return shared{s, g, at, o}
}

func TestOpenDoesNotMigrate(t *testing.T) {
	t.Parallel()
	s := unmigrated(t, Options{})
	status, err := s.Status(t.Context())
	if err != nil || status.Current != 0 || status.Latest != latest() || status.Migrations[0].Applied {
		t.Fatalf("got %+v, %v", status, err)
	}
	if names, err := s.db.ListCollectionNames(t.Context(), bson.D{}); err != nil || len(names) > 0 {
		t.Errorf("opening made %s, %v", names, err)
	}
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "migrate") {
		t.Errorf("ping: %v", err)
	}
	if _, err := s.CreateUser(t.Context(), adapter.User{}, nil); err == nil || !strings.Contains(err.Error(), "migrate") {
		t.Errorf("create user: %v", err)
	}
	if err := s.Migrate(t.Context(), Up); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.CreateUser(t.Context(), adapter.User{}, nil); err != nil {
		t.Error(err)
	}
	if status, err = s.Status(t.Context()); err != nil || status.Current != latest() || !status.Migrations[0].Applied {
		t.Errorf("got %+v, %v", status, err)
	}
}

// ownNames lists authsvc's own collections, and its indexes on other collections.
func ownNames(t *testing.T, s shared) (list []string) {
	t.Helper()
	names, err := s.db.ListCollectionNames(t.Context(), bson.D{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, ownPrefix) {
			list = append(list, name)
			continue
		}
		indexes, err := existing(t.Context(), s.db.Collection(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range indexes {
			if strings.HasPrefix(i.text("name"), ownPrefix) {
				list = append(list, name+"."+i.text("name"))
			}
		}
	}
	return list
}

func TestDownKeepsPeople(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	u, err := s.CreateUser(t.Context(), adapter.User{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(ownNames(t, s)) < 10 {
		t.Fatalf("found only %s", ownNames(t, s))
	}
	index := mongo.IndexModel{Keys: ascending("image")}
	if _, err := s.users().Indexes().CreateOne(t.Context(), index); err != nil {
		t.Fatal(err)
	}
	for range migrations() {
		if err := s.Migrate(t.Context(), Down); err != nil {
			t.Fatal(err)
		}
	}
	if left := ownNames(t, s); len(left) > 0 {
		t.Errorf("left behind: %s", left)
	}
	if indexes, err := existing(t.Context(), s.users()); err != nil || len(indexes) != 2 {
		t.Errorf("another program's index is gone: %v, %v", indexes, err)
	}
	if err := s.Migrate(t.Context(), Down); err == nil {
		t.Error("reverted a schema that does not exist")
	}
	if _, err := s.GetUser(t.Context(), u.ID); err == nil || errors.Is(err, adapter.ErrNotFound) {
		t.Errorf("it works without a schema: %v", err)
	}
	for range 2 { // the second time does nothing
		if err := s.Migrate(t.Context(), Up); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.GetUser(t.Context(), u.ID); err != nil {
		t.Error(err)
	}
}

func TestRefusesNewerSchema(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	if err := s.put(t.Context(), s.meta(), versionKey, bson.D{{Key: "$set", Value: by("version", int64(99))}}); err != nil {
		t.Fatal(err)
	}
	for _, migrate := range []bool{false, true} {
		_, err := Open(t.Context(), s.location, Options{Migrate: migrate})
		if err == nil || !strings.Contains(err.Error(), "version 99") || !strings.Contains(err.Error(), fmt.Sprintf("newer than %d", latest())) || Unreachable(err) {
			t.Errorf("migrate %v: got %v", migrate, err)
		}
	}
	if err := s.Migrate(t.Context(), Down); err == nil {
		t.Error("reverted an unknown version")
	}
}

// TestMigrateRefusesDuplicates checks that the error names the broken rule, but not the
// contents of the documents.
func TestMigrateRefusesDuplicates(t *testing.T) {
	t.Parallel()
	s := unmigrated(t, Options{})
	for range 2 {
		if _, err := s.users().InsertOne(t.Context(), by("email", "ann@example.com")); err != nil {
			t.Fatal(err)
		}
	}
	err := s.Migrate(t.Context(), Up)
	if err == nil || !strings.Contains(err.Error(), "cannot create unique index over (email) of users") || strings.Contains(err.Error(), "ann@") {
		t.Fatalf("got %v", err)
	}
	if status, err := s.Status(t.Context()); err != nil || status.Current != 0 {
		t.Errorf("got %+v, %v", status, err)
	}
	if _, err := s.users().DeleteOne(t.Context(), by("email", "ann@example.com")); err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context(), Up); err != nil {
		t.Error(err)
	}
}

// downgradeLog replaces the log with one of schema version 1.
func (s shared) downgradeLog(t *testing.T, log ...bson.D) {
	t.Helper()
	for range latest() - (revocationLogVersion - 1) {
		if err := s.Migrate(t.Context(), Down); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range log {
		if _, err := s.revocations().InsertOne(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
}

// TestMigrateNumbers checks that revocations from before the log are numbered in the
// order in which they were written, and raise the epochs of their users. They therefore
// do not cover later sign-ins.
func TestMigrateNumbers(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	linkedUser(t, s, "ann")
	ann := s.userID(t, "ann")
	at := time.Now().Truncate(time.Millisecond).UTC()
	keys := []string{"by:p:" + ann, "sid:x:y", sessionsKey + ann, "nosid:" + ann, "by::" + ann}
	var log []bson.D
	for i, key := range keys {
		written := at.Add(time.Duration(i) * time.Second)
		log = append(log, bson.D{{Key: "_id", Value: key}, {Key: "not_before", Value: at}, {Key: "written", Value: written}, {Key: "expires", Value: at.Add(time.Hour)}})
	}
	log[0], log[4] = log[4], log[0]
	s.downgradeLog(t, log...)
	if _, err := Open(t.Context(), s.location, Options{}); err != nil { // returns an error on first use: the schema needs a migration
		t.Error(err)
	}
	for range 2 { // the second time does nothing
		again(t, s.location, Options{Migrate: true})
	}
	l := &listener{shared: s, heard: map[string]int64{}}
	l.catchUp(t)
	for i, key := range keys {
		if want := int64(i + 1); l.heard[key] != want {
			t.Errorf("%s has number %d, want %d", key, l.heard[key], want)
		}
	}
	list, _, err := s.Revocations(t.Context(), 0, 1)
	if want := (adapter.Revocation{Key: keys[0], UserID: ann, Seq: 1, NotBefore: at, Expires: at.Add(time.Hour)}); err != nil || list[0] != want {
		t.Errorf("got %+v, %v, want %+v", list, err, want)
	}
	if l.read(t); l.after != 5 {
		t.Errorf("the end of the log is at %d", l.after)
	}
	u, err := s.GetUser(t.Context(), ann)
	if err != nil || u.Epoch != 5 || u.SessionEpoch != 3 {
		t.Errorf("got %+v, %v", u, err)
	}
	if !s.signedIn(t, "ann") { // it began after them, and has no number
		t.Error("signed out")
	}
	rec := testSession("new")
	rec.UserID, rec.Epoch = ann, u.Epoch
	if _, err := s.CreateSession(t.Context(), rec); err != nil || !s.signedIn(t, "new") {
		t.Errorf("cannot sign in: %v", err)
	}
	r := endSessionsOf(ann)
	if err := s.Revoke(t.Context(), r); err != nil || r.Seq < 7 { // 6 is taken
		t.Errorf("then number %d, %v", r.Seq, err)
	}
	if s.signedIn(t, "new") {
		t.Error("the session does not end")
	}
}

// TestMigrateNumbersMany checks that two processes can number more records than fit
// into a batch.
func TestMigrateNumbersMany(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{})
	var log []any
	for i := range numberBatch + 10 {
		log = append(log, bson.D{{Key: "_id", Value: fmt.Sprint("sid:", i)}, {Key: "written", Value: time.Now()}, {Key: "expires", Value: time.Now().Add(time.Hour)}})
	}
	s.downgradeLog(t)
	if _, err := s.revocations().InsertMany(t.Context(), log); err != nil {
		t.Fatal(err)
	}
	together(func() { again(t, s.location, Options{Migrate: true}) }, func() { again(t, s.location, Options{Migrate: true}) })
	l := &listener{shared: s, heard: map[string]int64{}}
	for before := int64(-1); l.after != before; {
		before = l.after
		list, next, err := s.Revocations(t.Context(), l.after, 500)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list {
			l.heard[r.Key] = r.Seq
		}
		l.after = next
	}
	if len(l.heard) != len(log) {
		t.Errorf("heard %d of %d", len(l.heard), len(log))
	}
}

// TestConcurrentMigrate checks that several processes can migrate at once.
func TestConcurrentMigrate(t *testing.T) {
	t.Parallel()
	s := unmigrated(t, Options{})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			b, err := Open(t.Context(), s.location, Options{Migrate: true})
			if err != nil {
				t.Error(err)
				return
			}
			defer b.Close()
			if err := b.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := s.verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// downAll undoes all migrations.
func (s shared) downAll(t *testing.T) error {
	t.Helper()
	for {
		version, err := s.version(t.Context())
		if err != nil || version == 0 {
			return err
		}
		if err := s.Migrate(t.Context(), Down); err != nil {
			return err
		}
	}
}

// TestKilledMigration checks that the next migration finishes one that was killed, in
// either direction.
func TestKilledMigration(t *testing.T) {
	t.Parallel()
	s := unmigrated(t, Options{})
	for n := 1; ; n += 4 {
		for _, d := range []Direction{Up, Down} {
			s.proxy.failNth(n, answerAfter, true)
			err := s.Migrate(t.Context(), d)
			whole := len(s.proxy.commands()) < n
			s.proxy.failNth(0, 0, false)
			if whole && err != nil {
				t.Fatal(err)
			}
			if d == Up {
				err = s.Migrate(t.Context(), d)
			} else {
				err = s.downAll(t)
			}
			if err != nil {
				t.Fatalf("after command %d: %v", n, err)
			}
			if d == Up && whole {
				return
			}
			if status, err := s.Status(t.Context()); err != nil || d == Up && status.Current != latest() || d == Down && status.Current != 0 {
				t.Fatalf("got %+v, %v", status, err)
			}
		}
	}
}
