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

// definitions is what tables that are not authsvc's own are like.
func (d *Database) definitions(t testing.TB, db *sql.DB) string {
	t.Helper()
	var list []string
	for _, query := range d.Definitions {
		list = append(list, Query(t, db, query)...)
	}
	return strings.Join(list, "\n")
}

// Adopts opens a database with tables of another program, migrates it, and
// returns the store. Opening has to make nothing, and migrating has to leave
// those tables as they are.
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

// A SchemaCase is what another program made, and what is to come of it.
type SchemaCase struct {
	Schema, Want string
	Unreadable   bool // they cannot even be opened without migrating
}

// RefusesTables demands that tables which cannot be used are refused with the
// error that is wanted, and that nothing is changed.
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

// AddsIndexes demands that a rule whose unique index is missing gets the one
// that is wanted, beside what is there.
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
		})
	}
}

// OpenDoesNotMigrate demands that opening makes nothing unless it is told to,
// and that the store says what is missing.
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
	if _, err := s.CreateUser(t.Context(), authsvc.User{ID: "u"}); err != nil {
		t.Error(err)
	}
	if status, err = s.Status(t.Context()); err != nil || status.Current != sqlschema.Latest() || !status.Migrations[0].Applied {
		t.Errorf("got %+v, %v", status, err)
	}
}

// Statements demands that the statements which a store shows change nothing, and
// that by hand they make what migrating makes, from the start and after the last
// change was taken back.
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

// apply has a store show its statements, which are of so many changes, and executes
// them.
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
	if _, err := opened.CreateUser(t.Context(), authsvc.User{ID: fmt.Sprint("u", changes)}); err != nil {
		t.Error(err)
	}
}

// DownKeepsUsers takes all migrations back and applies them again.
func DownKeepsUsers(t *testing.T, d *Database) {
	t.Parallel()
	url := d.Empty(t)
	s := d.Opened(t, url, true)
	if _, err := s.CreateUser(t.Context(), authsvc.User{ID: "u"}); err != nil {
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
		t.Error("took back what was not there")
	}
	for range 2 { // the second time there is nothing to do
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

// RefusesNewerSchema demands that the schema of a later build is refused and
// left as it is.
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
		if err == nil || !strings.Contains(err.Error(), "version 99") || !strings.Contains(err.Error(), fmt.Sprint("up to ", sqlschema.Latest())) {
			t.Errorf("migrate %v: got %v", migrate, err)
		}
	}
	if d.dump(t, db) != before {
		t.Error("data was changed")
	}
}

// ConcurrentOpen demands that any number of processes may start on an empty
// database.
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

// CheckApplied demands that each migration was applied once.
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

// MigrationFailingHalfway demands of a database that can take changes of the
// schema back that a migration which fails leaves nothing, and that the next
// one passes.
func MigrationFailingHalfway(t *testing.T, d *Database) {
	t.Parallel()
	url := d.With(t, `CREATE TABLE authsvc_once (id TEXT)`) // in the way of the last file
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
