package sqltest

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"authsvc"
	"authsvc/internal/sql/sqlschema"
	"authsvc/internal/sql/stores"
)

// definitions describes the tables of other programs.
func (d *Database) definitions(t testing.TB, db *sql.DB) string {
	t.Helper()
	var list []string
	for _, query := range d.Definitions {
		list = append(list, Query(t, db, query)...)
	}
	return strings.Join(list, "\n")
}

// Adopts opens a database with another program's tables, migrates it and returns the
// store. Opening must create nothing, and migrating must not change those tables.
func Adopts(t *testing.T, d *Database, url string) Store {
	t.Helper()
	s, db := d.Opened(t, url, false), d.Connected(t, url)
	before := d.definitions(t, db)
	if made := d.added(t, db); len(made) > 0 {
		t.Errorf("opening made %s", made)
	}
	if err := s.Migrate(t.Context(), stores.Up); err != nil {
		t.Fatal(err)
	}
	if after := d.definitions(t, db); after != before || before == "" {
		t.Errorf("its tables were changed:\n%s\n%s", before, after)
	}
	return s
}

// A SchemaCase is another program's schema and the expected result.
type SchemaCase struct {
	Schema, Want string
	Unreadable   bool // cannot be opened without migrating either
}

// RefusesTables checks that unusable tables are refused with the wanted error and
// stay unchanged.
func RefusesTables(t *testing.T, d *Database, cases map[string]SchemaCase) {
	t.Parallel()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := d.With(t, c.Schema)
			s, err := d.Open(t.Context(), url, true)
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.Want) {
				t.Fatalf("got %v", err)
			}
			if left := d.added(t, d.Connected(t, url)); len(left) > 0 {
				t.Errorf("left behind: %s", left)
			}
			if s, err = d.Open(t.Context(), url, false); (err != nil) != c.Unreadable {
				t.Errorf("without migrating: %v", err)
			}
			if err == nil {
				CloseAtEnd(t, s)
			}
		})
	}
}

// AddsIndexes checks that a missing unique index is created, and that existing indexes
// stay. The table of users gets no index in addition to a new unique one, except an index
// over an expression.
func AddsIndexes(t *testing.T, d *Database, cases map[string]SchemaCase) {
	t.Parallel()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := d.With(t, c.Schema)
			d.Opened(t, url, true)
			added := slices.DeleteFunc(Query(t, d.Connected(t, url), d.Unique), func(name string) bool { return !strings.HasPrefix(name, "authsvc_") })
			if got := strings.Join(added, " "); got != c.Want {
				t.Errorf("added %q, want %q", got, c.Want)
			}
			addresses := slices.Contains(Query(t, d.Connected(t, url), d.Indexes), "authsvc_user_address")
			if needed := d.Dialect.Indexed != nil; addresses != needed {
				t.Errorf("an index of addresses: %v, want %v", addresses, needed)
			}
		})
	}
}

// OpenDoesNotMigrate checks that opening creates nothing unless told to, and that the
// store reports missing tables.
func OpenDoesNotMigrate(t *testing.T, d *Database) {
	t.Parallel()
	url := d.Empty(t)
	s := d.Opened(t, url, false)
	status, err := s.Status(t.Context())
	if err != nil || status.Current != 0 || status.Latest != sqlschema.Latest() || status.Migrations[0].Applied {
		t.Fatalf("got %+v, %v", status, err)
	}
	if err := s.Ping(t.Context()); err == nil || !strings.Contains(err.Error(), "migrate") {
		t.Errorf("ping: %v", err)
	}
	if _, err := s.GetUser(t.Context(), "u"); err == nil || !strings.Contains(err.Error(), "migrated") {
		t.Errorf("get user: %v", err)
	}
	db := d.Connected(t, url)
	if made := append(Query(t, db, d.Tables), Query(t, db, d.Indexes)...); len(made) > 0 {
		t.Errorf("opening made %s", made)
	}
	if err := s.Migrate(t.Context(), stores.Up); err != nil {
		t.Fatal(err)
	}
	if err := s.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.CreateUser(t.Context(), authsvc.User{ID: "u"}, nil); err != nil {
		t.Error(err)
	}
	if status, err = s.Status(t.Context()); err != nil || status.Current != sqlschema.Latest() || !status.Migrations[0].Applied {
		t.Errorf("got %+v, %v", status, err)
	}
}

// Statements checks that showing the statements changes nothing. Executed by hand,
// they must have the effect of migrating, both from an empty database and after the
// last migration was rolled back.
func Statements(t *testing.T, d *Database) {
	t.Parallel()
	byHand, migrated := d.Empty(t), d.Empty(t)
	d.apply(t, byHand, len(statusOf(t, d.Opened(t, byHand, false)).Migrations))
	d.Opened(t, migrated, true)
	db, other := d.Connected(t, byHand), d.Connected(t, migrated)
	for _, query := range append([]string{d.Tables, d.Indexes, d.Unique}, d.Definitions...) {
		got := slices.DeleteFunc(Query(t, db, query), func(name string) bool { return strings.HasPrefix(name, sqlschema.LockTable) })
		want := slices.DeleteFunc(Query(t, other, query), func(name string) bool { return strings.HasPrefix(name, sqlschema.LockTable) })
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("by hand there is\n%s\nmigrating makes\n%s", got, want)
		}
	}
	if err := d.Opened(t, migrated, false).Migrate(t.Context(), stores.Down); err != nil {
		t.Fatal(err)
	}
	d.apply(t, migrated, 1)
	d.apply(t, migrated, 0)
}

func statusOf(t *testing.T, s Store) stores.Status {
	t.Helper()
	status, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// apply lets a store show its statements for a number of changes and executes them.
func (d *Database) apply(t *testing.T, url string, changes int) {
	t.Helper()
	s, db := d.Opened(t, url, false), d.Connected(t, url)
	before := append(Query(t, db, d.Tables), Query(t, db, d.Indexes)...)
	var text strings.Builder
	of := map[int64]bool{}
	err := s.Statements(t.Context(), func(m stores.Migration, statement string) {
		of[m.Version] = true
		text.WriteString(statement + "\n")
	})
	if err != nil || len(of) != changes {
		t.Fatalf("statements of %d changes, want %d (%v)", len(of), changes, err)
	}
	if after := append(Query(t, db, d.Tables), Query(t, db, d.Indexes)...); !slices.Equal(before, after) {
		t.Fatalf("showing them made %s of %s", after, before)
	}
	if err := d.Execute(t.Context(), url, text.String()); err != nil {
		t.Fatal(err)
	}
	opened := d.Opened(t, url, false)
	if status := statusOf(t, opened); status.Current != status.Latest {
		t.Errorf("afterwards: %+v", status)
	}
	if err := opened.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := opened.CreateUser(t.Context(), authsvc.User{ID: fmt.Sprint("u", changes)}, nil); err != nil {
		t.Error(err)
	}
}

// DownKeepsUsers rolls all migrations back and applies them again.
func DownKeepsUsers(t *testing.T, d *Database) {
	t.Parallel()
	url := d.Empty(t)
	s := d.Opened(t, url, true)
	if _, err := s.CreateUser(t.Context(), authsvc.User{ID: "u"}, nil); err != nil {
		t.Fatal(err)
	}
	for range int(sqlschema.Latest()) {
		if err := s.Migrate(t.Context(), stores.Down); err != nil {
			t.Fatal(err)
		}
	}
	if left := d.own(t, d.Connected(t, url)); len(left) > 0 {
		t.Errorf("left behind: %s", left)
	}
	if err := s.Migrate(t.Context(), stores.Down); err == nil {
		t.Error("reverted a schema that does not exist")
	}
	for range 2 { // the second round has nothing to do
		if err := s.Migrate(t.Context(), stores.Up); err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range []Store{s, d.Opened(t, url, false)} {
		if _, err := s.GetUser(t.Context(), "u"); err != nil {
			t.Error(err)
		}
	}
}

// RefusesNewerSchema checks that the schema of a later build is refused and stays
// unchanged.
func RefusesNewerSchema(t *testing.T, d *Database) {
	t.Parallel()
	url := d.Empty(t)
	d.Opened(t, url, true)
	db := d.Connected(t, url)
	if _, err := db.ExecContext(t.Context(), `INSERT INTO `+sqlschema.VersionTable+` (version_id, is_applied) VALUES (99, true)`); err != nil {
		t.Fatal(err)
	}
	before := d.dump(t, db)
	for _, migrate := range []bool{false, true} {
		s, err := d.Open(t.Context(), url, migrate)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "version 99") || !strings.Contains(err.Error(), fmt.Sprintf("newer than %d", sqlschema.Latest())) {
			t.Errorf("migrate %v: got %v", migrate, err)
		}
	}
	if d.dump(t, db) != before {
		t.Error("data was changed")
	}
}

// ConcurrentOpen checks that many processes may start at once on an empty database.
func ConcurrentOpen(t *testing.T, d *Database) {
	t.Parallel()
	url := d.Empty(t)
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			s, err := d.Open(t.Context(), url, true)
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Close()
			if err := s.Ping(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	d.CheckApplied(t, url)
}

// CheckApplied checks that each migration was applied exactly once.
func (d *Database) CheckApplied(t testing.TB, url string) {
	t.Helper()
	var want []string
	for version := range sqlschema.Latest() + 1 {
		want = append(want, fmt.Sprint(version, " ", 1))
	}
	got := Query(t, d.Connected(t, url), `SELECT version_id, COUNT(*) FROM `+sqlschema.VersionTable+` GROUP BY version_id ORDER BY version_id`)
	if !slices.Equal(got, want) {
		t.Errorf("applied: %s, want %s", got, want)
	}
}

// MigrationFailingHalfway checks that a failed migration leaves nothing behind and
// that the next one succeeds. The database must support rolling back schema changes.
func MigrationFailingHalfway(t *testing.T, d *Database) {
	t.Parallel()
	url := d.With(t, `CREATE TABLE authsvc_once (id TEXT)`) // makes the last file fail
	if s, err := d.Open(t.Context(), url, true); err == nil {
		s.Close()
		t.Fatal("migrated")
	}
	s, db := d.Opened(t, url, false), d.Connected(t, url)
	left := slices.DeleteFunc(Query(t, db, d.Tables), func(name string) bool { return name == sqlschema.VersionTable || name == sqlschema.LockTable })
	if !slices.Equal(left, []string{"authsvc_once"}) {
		t.Errorf("left behind: %s", left)
	}
	if _, err := db.ExecContext(t.Context(), `DROP TABLE authsvc_once`); err != nil {
		t.Fatal(err)
	}
	if err := s.Migrate(t.Context(), stores.Up); err != nil {
		t.Error(err)
	}
}
