package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"authsvc/adapter"
	"authsvc/adaptertest"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/sqltest"
)

var testDatabase = &sqltest.Database{
	Scheme: "postgres",
	Empty:  servertest.Postgres,
	Open: func(ctx context.Context, url string, migrate bool) (sqltest.Store, error) {
		return Open(ctx, url, Options{Migrate: migrate})
	},
	Connect:     func(url string) (*sql.DB, error) { return sql.Open("pgx", url) },
	Unreachable: Unreachable,
	Dialect:     dialect(),
	Tables:      `SELECT tablename::text FROM pg_tables WHERE schemaname = current_schema()`,
	Indexes:     `SELECT indexname::text FROM pg_indexes WHERE schemaname = current_schema()`,
	Unique: `SELECT indexname::text FROM pg_indexes WHERE schemaname = current_schema() AND tablename NOT LIKE 'authsvc\_%'
		AND indexdef LIKE '%UNIQUE%' ORDER BY 1`,
	Definitions: []string{
		`SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
			WHERE table_schema = current_schema() AND table_name NOT LIKE 'authsvc%' ORDER BY 1, 2`,
		`SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() AND tablename NOT LIKE 'authsvc%'
			AND indexname NOT LIKE 'authsvc%' ORDER BY 1`,
	},
}

// A shared store is open in a NextAuth.js application too.
type shared struct {
	*Store
	*sqltest.Application
	location string
	options  Options
	other    other
}

// An other describes the program that created the tables. The zero value is authsvc.
type other struct {
	schema string // SQL
	limits adaptertest.Limits
	// writes converts a time to the form in which the program passes it. Nil:
	// unchanged.
	writes func(time.Time) any
}

// schemas creates a database in which each call creates a schema, and returns its URL.
// Creating a schema is many times faster than creating a database.
func schemas(t testing.TB) func(t testing.TB) string {
	t.Helper()
	location := servertest.Postgres(t)
	db := testDatabase.Connected(t, location)
	var n atomic.Int32
	return func(t testing.TB) string {
		t.Helper()
		name := quote(fmt.Sprintf("Case_%d", n.Add(1)))
		if _, err := db.ExecContext(t.Context(), `CREATE SCHEMA `+name); err != nil {
			t.Fatal(err)
		}
		return with(location, "search_path="+url.PathEscape(name+",public"))
	}
}

// opened opens a database for the duration of a test.
func opened(t testing.TB, location string, o Options, by other, hooks sqladapter.TestHooks) shared {
	t.Helper()
	s, err := open(t.Context(), location, o, hooks)
	if err != nil {
		t.Fatal(err)
	}
	sqltest.CloseAtEnd(t, s)
	return shared{s, &sqltest.Application{Database: testDatabase, DB: s.db, Names: s.names, Traits: sqltest.Traits(s.schema),
		Time: by.writes, Limit: by.limits}, location, o, by}
}

func newShared(t testing.TB, o Options, hooks sqladapter.TestHooks) shared {
	t.Helper()
	o.Migrate = true
	return opened(t, servertest.Postgres(t), o, other{}, hooks)
}

// with adds parameters to a URL.
func with(location, parameters string) string {
	if strings.Contains(location, "?") {
		return location + "&" + parameters
	}
	return location + "?" + parameters
}

// Reopen implements [adaptertest.Reopener].
func (s shared) Reopen(t *testing.T) adapter.Adapter {
	return opened(t, s.location, s.options, s.other, sqladapter.TestHooks{})
}

// suite runs the test suite on tables that another program may have created.
func suite(t *testing.T, o Options, by other, parameters string) {
	t.Helper()
	o.Migrate = true
	fresh := servertest.PostgresFrom(t, func(url string) error {
		return testDatabase.Prepare(url, by.schema, func(ctx context.Context, url string) (sqltest.Store, error) { return Open(ctx, url, o) })
	})
	adaptertest.Run(t, func(t *testing.T) adapter.Adapter {
		return opened(t, with(fresh(t), parameters), o, by, sqladapter.TestHooks{})
	})
}

func TestAdapter(t *testing.T) {
	t.Parallel()
	suite(t, Options{}, other{}, "pool_max_conns=8")
}

// TestAdapterAwkward uses the names of preset snake, some of which need quoting, in a
// session with a time zone with summer time and a non-default isolation level.
func TestAdapterAwkward(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	o := Options{Naming: Naming{
		Preset:  "snake",
		Tables:  map[string]string{"User": `us"er {?}`},
		Columns: map[string]string{"User.email": `mail "?" {x}`},
	}}
	suite(t, o, other{}, "pool_max_conns=8&TimeZone=America/New_York&default_transaction_isolation=serializable")
}

func TestAdapterAuthJSNames(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	suite(t, Options{Naming: Naming{Preset: "authjs"}}, other{}, "pool_max_conns=8&default_transaction_isolation=repeatable%20read")
}

func TestQueryPlans(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	sqltest.Fill(t, s.Application, `ANALYZE %s`)
	sqltest.Plans(t, s.Adapter, func(text string) []string {
		plan := strings.Join(sqltest.Query(t, s.db, "EXPLAIN "+sqltest.Literals(text)), "\n\t")
		if strings.Contains(plan, "Seq Scan") {
			return []string{plan}
		}
		return nil
	}, "authsvc_sequence", // has one row
		`p.blocked IS NOT NULL`) // used by operators now and then
}

func BenchmarkGetSession(b *testing.B) { sqltest.BenchmarkGetSession(b, testDatabase) }
