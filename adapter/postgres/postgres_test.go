package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"authsvc"
	"authsvc/adaptertest"
	"authsvc/internal/sqladapter"
	"authsvc/internal/sqlschema"
	"authsvc/internal/test/servertest"
)

// A shared store is one that a NextAuth.js application has open as well.
type shared struct {
	*Store
	location string
	options  Options
	other    other
}

// An other is the program that made the tables. The zero value is authsvc.
type other struct {
	extensions, schema string // SQL
	limits             adaptertest.Limits
	// session is the INSERT with which it writes one; its parameters are id,
	// token, user id and expiry. Empty: that of Prisma.
	session string
	// writes is how it hands over a time.
	writes func(time.Time) any
}

// schemas makes a database in which each call makes a schema of its own with
// the tables of another program, and returns its URL. Making a schema is many
// times quicker than making a database.
func schemas(t testing.TB, by other) func(t testing.TB) string {
	t.Helper()
	location := servertest.Postgres(t)
	db := connected(t, location)
	if _, err := db.ExecContext(t.Context(), by.extensions); err != nil {
		t.Fatal(err)
	}
	var n atomic.Int32
	return func(t testing.TB) string {
		t.Helper()
		name := fmt.Sprintf("Case_%d", n.Add(1))
		if _, err := db.ExecContext(t.Context(), `CREATE SCHEMA `+quote(name)); err != nil {
			t.Fatal(err)
		}
		own := with(location, "search_path="+url.PathEscape(quote(name)+",public"))
		if _, err := connected(t, own).ExecContext(t.Context(), by.schema); err != nil {
			t.Fatal(err)
		}
		return own
	}
}

// prepare makes the tables of somebody and migrates.
func prepare(url string, o Options, by other) error {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	defer db.Close()
	if _, err := db.ExecContext(context.Background(), by.extensions+";"+by.schema); err != nil {
		return err
	}
	s, err := Open(context.Background(), url, o)
	if err != nil {
		return err
	}
	return s.Close()
}

// connected is how another program connects.
func connected(t testing.TB, location string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", location)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// opened opens a database, with parameters added to its URL.
func opened(t testing.TB, location string, o Options, by other, hooks sqladapter.TestHooks) shared {
	t.Helper()
	s, err := open(t.Context(), location, o, hooks)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return shared{s, location, o, by}
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
func (s shared) Reopen(t *testing.T) authsvc.Adapter {
	return opened(t, s.location, s.options, s.other, sqladapter.TestHooks{})
}

// Limits implements [adaptertest.Limited].
func (s shared) Limits() adaptertest.Limits { return s.other.limits }

func (s shared) exec(ctx context.Context, text string, args ...any) error {
	statement, err := s.names.Expand(text, quote)
	if err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, statement, args...)
	return err
}

// ForeignSession implements [adaptertest.Foreign].
func (s shared) ForeignSession(ctx context.Context, id, token, userID string, expires time.Time) error {
	insert, at := s.other.session, any(expires)
	if insert == "" {
		insert = `INSERT INTO {Session} ({Session.id}, {Session.sessionToken}, {Session.userId}, {Session.expires}) VALUES ($1, $2, $3, $4)`
	}
	if s.other.writes != nil {
		at = s.other.writes(expires)
	}
	if !strings.Contains(insert, "$4") {
		return s.exec(ctx, insert, token, userID, at)
	}
	return s.exec(ctx, insert, id, token, userID, at)
}

// ForeignSignOut implements [adaptertest.Foreign].
func (s shared) ForeignSignOut(ctx context.Context, token string) error {
	return s.exec(ctx, `DELETE FROM {Session} WHERE {Session.sessionToken} = $1`, token)
}

// Dump implements [sqlfault.Store].
func (s shared) Dump(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, table := range query(t, s.db, `SELECT tablename FROM pg_tables WHERE schemaname = current_schema()
		AND tablename NOT IN ($1, $2) ORDER BY 1`, sqlschema.VersionTable, sqlschema.LockTable) {
		fmt.Fprintln(&b, table, query(t, s.db, `SELECT * FROM `+quote(table)+` ORDER BY 1`))
	}
	return b.String()
}

// query returns rows as text.
func query(t testing.TB, db *sql.DB, text string, args ...any) (list []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		list = append(list, strings.TrimSpace(fmt.Sprintln(cells...)))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// suite judges the store over tables that somebody made.
func suite(t *testing.T, o Options, by other, parameters string) {
	t.Helper()
	o.Migrate = true
	fresh := servertest.PostgresFrom(t, func(url string) error { return prepare(url, o, by) })
	adaptertest.Run(t, func(t *testing.T) authsvc.Adapter {
		return opened(t, with(fresh(t), parameters), o, by, sqladapter.TestHooks{})
	})
}

func TestAdapter(t *testing.T) {
	t.Parallel()
	suite(t, Options{}, other{}, "pool_max_conns=8")
}

// Names of preset snake, some of which need quoting, in a session whose time
// zone has summer time, and whose isolation is another than the default.
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

// What `prisma db push` makes of the documented NextAuth.js schema.
func TestAdapterOnPrisma(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	suite(t, Options{}, other{schema: prisma, limits: adaptertest.Limits{Expiry: math.MaxInt32}},
		"pool_max_conns=8&TimeZone=Australia/Lord_Howe")
}

// What Prisma makes of the models that Auth.js documents today: accounts and
// sessions have no ids, and updatedAt must be given.
func TestAdapterOnPrismaOfToday(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	suite(t, Options{}, other{schema: prismaToday, limits: adaptertest.Limits{Expiry: math.MaxInt32},
		session: `INSERT INTO {Session} ({Session.sessionToken}, {Session.userId}, {Session.expires}, "updatedAt") VALUES ($1, $2, $3, $3)`},
		"pool_max_conns=8&TimeZone=Asia/Kathmandu")
}

// What the documentation of @auth/pg-adapter makes.
func TestAdapterOnPgAdapter(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	suite(t, Options{Naming: Naming{Preset: "authjs"}}, pgAdapterTables(), "pool_max_conns=8&TimeZone=America/New_York")
}

func pgAdapterTables() other {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		panic(err)
	}
	return other{
		schema:  pgAdapter,
		session: `INSERT INTO {Session} ({Session.sessionToken}, {Session.userId}, {Session.expires}) VALUES ($1, $2, $3)`,
		// node-postgres hands times over as text of the local zone.
		writes: func(t time.Time) any { return t.In(newYork).Format("2006-01-02T15:04:05.000-07:00") },
	}
}

func TestAdapterOnUUIDs(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	by := other{
		schema:  strings.NewReplacer(`"id" TEXT NOT NULL`, `"id" UUID NOT NULL DEFAULT gen_random_uuid()`, `"userId" TEXT`, `"userId" UUID`).Replace(prisma),
		limits:  adaptertest.Limits{Expiry: math.MaxInt32},
		session: `INSERT INTO {Session} ({Session.sessionToken}, {Session.userId}, {Session.expires}) VALUES ($1, $2, $3)`,
	}
	suite(t, Options{}, by, "pool_max_conns=8")
}

func TestAdapterOnCitext(t *testing.T) {
	servertest.Long(t)
	t.Parallel()
	by := other{
		extensions: `CREATE EXTENSION citext`,
		schema:     strings.Replace(prisma, `"email" TEXT`, `"email" CITEXT`, 1),
		limits:     adaptertest.Limits{Expiry: math.MaxInt32, LooseEmail: true},
	}
	suite(t, Options{}, by, "pool_max_conns=8")
}
