package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/adaptertest"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/sqlfault"
	"authsvc/internal/test/sqltest"
)

var testDatabase = &sqltest.Database{
	Scheme: "sqlite",
	Empty:  func(t testing.TB) string { return filepath.Join(t.TempDir(), "auth.db") },
	Open: func(ctx context.Context, url string, migrate bool) (sqltest.Store, error) {
		return Open(ctx, url, Options{Migrate: migrate})
	},
	Connect: func(url string) (*sql.DB, error) { return sql.Open("sqlite", url+"?_pragma=busy_timeout(5000)") },
	Dialect: dialect(),
	Tables:  `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`,
	Indexes: `SELECT name FROM sqlite_schema WHERE type = 'index' AND name NOT LIKE 'sqlite_%'`,
	Unique:  `SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name NOT LIKE 'authsvc_%' AND sql LIKE '%UNIQUE%' ORDER BY name`,
	Definitions: []string{
		`SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'authsvc_%' AND tbl_name NOT LIKE 'authsvc_%' ORDER BY name`,
	},
}

// A shared store is open in a NextAuth.js application too.
type shared struct {
	*Store
	*sqltest.Application
	location string
	options  Options
}

// opened opens a file for the duration of a test.
func opened(t testing.TB, location string, o Options, hooks sqladapter.TestHooks) shared {
	t.Helper()
	s, err := open(t.Context(), location, o, hooks)
	if err != nil {
		t.Fatal(err)
	}
	sqltest.CloseAtEnd(t, s)
	// No power is lost here, and waiting for the disk would take most of the time.
	quick := &sqladapter.Statement{Text: `PRAGMA synchronous = OFF`}
	for _, db := range []sqladapter.Database{s.writer, sqladapter.SQL(s.db, sql.LevelDefault)} {
		if err := db.Prepare(t.Context(), quick); err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(t.Context(), quick, nil); err != nil {
			t.Fatal(err)
		}
	}
	// Newer versions of Prisma, and Kysely, write times as text.
	iso := func(at time.Time) any { return at.Format("2006-01-02T15:04:05.000Z07:00") }
	return shared{s, &sqltest.Application{Database: testDatabase, DB: s.db, Names: s.names, Traits: sqltest.Traits(s.schema), Time: iso}, location, o}
}

// newShared opens a new file with all tables.
func newShared(t testing.TB, o Options, hooks sqladapter.TestHooks) shared {
	t.Helper()
	location := filepath.Join(t.TempDir(), "auth.db")
	if err := os.WriteFile(location, migrated(t, o), 0o600); err != nil {
		t.Fatal(err)
	}
	return opened(t, location, o, hooks)
}

// templates holds an empty migrated file for each naming: migrating is slow under the
// race detector.
var templates sync.Map

func migrated(t testing.TB, o Options) []byte {
	t.Helper()
	once, _ := templates.LoadOrStore(fmt.Sprint(o), sync.OnceValues(func() ([]byte, error) {
		dir, err := os.MkdirTemp("", "authsvc")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		o.Migrate = true
		s, err := Open(context.Background(), filepath.Join(dir, "auth.db"), o)
		if err == nil {
			err = s.Close()
		}
		if err != nil {
			return nil, err
		}
		return os.ReadFile(filepath.Join(dir, "auth.db"))
	}))
	file, err := once.(func() ([]byte, error))()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// Reopen implements [adaptertest.Reopener].
func (s shared) Reopen(t *testing.T) adapter.Adapter {
	return opened(t, s.location, s.options, sqladapter.TestHooks{})
}

func TestAdapter(t *testing.T) {
	t.Parallel()
	adaptertest.Run(t, func(t *testing.T) adapter.Adapter { return newShared(t, Options{}, sqladapter.TestHooks{}) })
}

// awkward returns options with renamed tables, some of whose names need quoting.
func awkward() Options {
	return Options{Naming: Naming{
		Preset:  "snake",
		Tables:  map[string]string{"User": `us"er {?}`},
		Columns: map[string]string{"User.email": `mail "?" {x}`},
	}}
}

// TestAdapterWithoutReturning runs the suite with the statements for a database without
// RETURNING, and with other names.
func TestAdapterWithoutReturning(t *testing.T) {
	t.Parallel()
	test := sqladapter.TestHooks{Dialect: func(d *sqladapter.Dialect) { d.Returning = false }}
	adaptertest.Run(t, func(t *testing.T) adapter.Adapter { return newShared(t, awkward(), test) })
}

// TestRetry checks that a step is repeated from its beginning after a busy error.
func TestRetry(t *testing.T) {
	t.Parallel()
	sqltest.Retry(t, func(t *testing.T, fault *sqlfault.Switch) adapter.Adapter {
		return newShared(t, Options{}, sqladapter.TestHooks{Database: fault.WrapDatabase, Dialect: func(d *sqladapter.Dialect) {
			d.Retryable = func(err error) bool { return errors.Is(err, sqlfault.ErrFault) }
		}})
	}, sqlfault.ErrFault, true, true)
}

func TestEveryStatementFailing(t *testing.T) {
	t.Parallel()
	open := func(returning bool) func(*testing.T, *sqlfault.Switch) sqlfault.Store {
		return func(t *testing.T, fault *sqlfault.Switch) sqlfault.Store {
			return newShared(t, Options{}, sqladapter.TestHooks{Database: fault.WrapDatabase, Dialect: func(d *sqladapter.Dialect) { d.Returning = returning }})
		}
	}
	sqlfault.Run(t, open(true))
	t.Run("without returning", func(t *testing.T) {
		t.Parallel()
		sqlfault.Run(t, open(false), "ClaimMail")
	})
}
