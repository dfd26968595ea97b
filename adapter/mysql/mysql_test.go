package mysql

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"authsvc/adapter"
	"authsvc/adaptertest"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/sqltest"
)

var testDatabase = &sqltest.Database{
	Scheme: "mysql",
	Empty:  servertest.MySQL,
	Open: func(ctx context.Context, url string, migrate bool) (sqltest.Store, error) {
		return Open(ctx, url, Options{Migrate: migrate})
	},
	Connect: func(url string) (*sql.DB, error) {
		to, err := parseURL(url)
		if err != nil {
			return nil, err
		}
		return to.open(sqladapter.TestHooks{})
	},
	Unreachable: Unreachable,
	Dialect:     dialect(server{mariaDB: true}),
	Tables:      `SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE()`,
	Indexes:     `SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE()`,
	Unique: `SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE()
		AND TABLE_NAME NOT LIKE 'authsvc_%' AND NON_UNIQUE = 0`,
	Definitions: []string{
		`SELECT TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLLATION_NAME FROM information_schema.COLUMNS
			WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE 'authsvc_%' ORDER BY 1, 2`,
		`SELECT TABLE_NAME, INDEX_NAME, COLUMN_NAME FROM information_schema.STATISTICS
			WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE 'authsvc_%' AND INDEX_NAME NOT LIKE 'authsvc_%' ORDER BY 1, 2, SEQ_IN_INDEX`,
	},
}

// A shared store is open in a NextAuth.js application too.
type shared struct {
	*Store
	*sqltest.Application
	url     string
	options Options
}

// opened opens a database for the duration of a test, with few connections: many stores
// are open at once.
func opened(t testing.TB, url string, o Options, hooks sqladapter.TestHooks) shared {
	t.Helper()
	s, err := open(t.Context(), withParameters(url, "pool_max_conns=8"), o, hooks)
	if err != nil {
		t.Fatal(err)
	}
	sqltest.CloseAtEnd(t, s)
	return shared{s, &sqltest.Application{Database: testDatabase, DB: s.db, Names: s.names, Traits: sqltest.Traits(s.schema)}, url, o}
}

func withParameters(url, parameters string) string {
	if strings.Contains(url, "?") {
		return url + "&" + parameters
	}
	return url + "?" + parameters
}

// template returns a function that creates databases with all tables. Another program
// may have created some of them first.
func template(t testing.TB, o Options, schema string) func(testing.TB) string {
	t.Helper()
	return servertest.MySQLFrom(t, func(url string) error { return prepare(url, o, schema) })
}

func prepare(url string, o Options, schema string) error {
	o.Migrate = true
	return testDatabase.Prepare(url, schema, func(ctx context.Context, url string) (sqltest.Store, error) { return Open(ctx, url, o) })
}

// Reopen implements [adaptertest.Reopener].
func (s shared) Reopen(t *testing.T) adapter.Adapter {
	return opened(t, s.url, s.options, sqladapter.TestHooks{}).Store
}

// run runs the adapter's test suite on databases created from a template.
func run(t *testing.T, o Options, schema string) {
	t.Helper()
	fresh := template(t, o, schema)
	adaptertest.Run(t, func(t *testing.T) adapter.Adapter { return opened(t, fresh(t), o, sqladapter.TestHooks{}) })
}

func TestAdapter(t *testing.T) {
	t.Parallel()
	run(t, Options{}, "")
}

// awkward returns options with renamed tables, some of whose names need quoting.
func awkward() Options {
	return Options{Naming: Naming{
		Preset:  "snake",
		Tables:  map[string]string{"User": "us`er {?} \"'"},
		Columns: map[string]string{"User.email": "mail `?` {x}", "Session.sessionToken": "select"},
	}}
}

func TestAdapterWithOtherNames(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	run(t, awkward(), "")
}

func BenchmarkGetSession(b *testing.B) { sqltest.BenchmarkGetSession(b, testDatabase) }
