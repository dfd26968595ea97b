package mysql

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"authsvc"
	"authsvc/adaptertest"
	"authsvc/internal/sqladapter"
	"authsvc/internal/test/servertest"
	"authsvc/internal/test/sqlfault"
)

// A shared store is one that a NextAuth.js application has open as well.
type shared struct {
	*Store
	url     string
	options Options
}

// opened opens a database that has all tables, with some connections: many
// stores are open at once.
func opened(t testing.TB, url string, o Options, hooks sqladapter.TestHooks) shared {
	t.Helper()
	s, err := open(t.Context(), withParameters(url, "pool_max_conns=8"), o, hooks)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	return shared{s, url, o}
}

func withParameters(url, parameters string) string {
	if strings.Contains(url, "?") {
		return url + "&" + parameters
	}
	return url + "?" + parameters
}

func closeAtEnd(t testing.TB, s *Store) {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// template makes databases with all tables, some of which may be made by
// another program first.
func template(t testing.TB, o Options, made string) func(testing.TB) string {
	t.Helper()
	return servertest.MySQLFrom(t, func(url string) error { return prepare(url, o, made) })
}

func prepare(url string, o Options, made string) error {
	ctx := context.Background()
	if err := execute(ctx, url, made); err != nil {
		return err
	}
	o.Migrate = true
	s, err := Open(ctx, url, o)
	if err != nil {
		return err
	}
	return s.Close()
}

// execute runs the statements of another program, which end with ";\n".
func execute(ctx context.Context, url, statements string) error {
	to, err := parseURL(url)
	if err != nil {
		return err
	}
	db, err := to.open(sqladapter.TestHooks{})
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range strings.SplitAfter(statements, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// Reopen implements [adaptertest.Reopener].
func (s shared) Reopen(t *testing.T) authsvc.Adapter {
	return opened(t, s.url, s.options, sqladapter.TestHooks{}).Store
}

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
	traits, err := s.schema.Traits(ctx)
	if err != nil {
		return err
	}
	var given any = id
	if traits.MadeIDs["Session"] {
		given = nil // then the database makes it
	}
	if traits.NoIDs["Session"] { // Prisma's models of today
		return s.exec(ctx, `INSERT INTO {Session} ({Session.sessionToken}, {Session.userId}, {Session.expires}, updatedAt) VALUES (?, ?, ?, ?)`,
			token, userID, expires, expires)
	}
	return s.exec(ctx, `INSERT INTO {Session} ({Session.id}, {Session.sessionToken}, {Session.userId}, {Session.expires}) VALUES (?, ?, ?, ?)`,
		given, token, userID, expires)
}

// ForeignSignOut implements [adaptertest.Foreign].
func (s shared) ForeignSignOut(ctx context.Context, token string) error {
	return s.exec(ctx, `DELETE FROM {Session} WHERE {Session.sessionToken} = ?`, token)
}

// run judges the adapter over databases of a template.
func run(t *testing.T, o Options, made string) {
	t.Helper()
	fresh := template(t, o, made)
	adaptertest.Run(t, func(t *testing.T) authsvc.Adapter { return opened(t, fresh(t), o, sqladapter.TestHooks{}) })
}

func TestAdapter(t *testing.T) {
	t.Parallel()
	run(t, Options{}, "")
}

// awkward are names of preset snake, some of which need quoting.
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

// Dump implements [sqlfault.Store].
func (s shared) Dump(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, table := range query(t, s.db, `SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME NOT LIKE 'authsvc_goose%' ORDER BY 1`) {
		rows := query(t, s.db, `SELECT * FROM `+quote(table)+` ORDER BY 1`)
		if table == "authsvc_meta" && len(rows) == 1 && strings.HasPrefix(rows[0], "mail queue") {
			rows = nil // a row to hold on to, which says nothing
		}
		fmt.Fprintln(&b, table, rows)
	}
	return b.String()
}

// query returns rows as text.
func query(t testing.TB, db *sql.DB, text string, args ...any) (list []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), text, args...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		cells := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		var line []string
		for _, c := range cells {
			line = append(line, c.String)
		}
		list = append(list, strings.Join(line, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

func TestEveryStatementFailing(t *testing.T) {
	t.Parallel()
	fresh := template(t, Options{}, "")
	sqlfault.Run(t, func(t *testing.T, wrap func(driver.Connector) driver.Connector) sqlfault.Store {
		return opened(t, fresh(t), Options{}, sqladapter.TestHooks{Connector: wrap})
	})
}

// A server that asks for it gets a step again, from its beginning; only what
// certainly was not done is repeated.
func TestRetry(t *testing.T) {
	t.Parallel()
	fresh := template(t, Options{}, "")
	number := func(n uint16) error { return &mysql.MySQLError{Number: n} }
	for name, c := range map[string]struct {
		err      error
		repeated bool
	}{
		"deadlock":              {number(errDeadlock), true},
		"lock wait":             {number(errLockWait), true},
		"snapshot":              {number(errSnapshot), true},
		"Galera, not ready":     {number(errUnknownCommand), true},
		"read-only option":      {number(errOptionPrevents), true},
		"read-only transaction": {number(errReadOnlyTransaction), true},
		"read-only mode":        {number(errReadOnlyMode), true},
		"nothing was sent":      {driver.ErrBadConn, true},
		"connection lost":       {mysql.ErrInvalidConn, false},
		"shutdown":              {number(errShutdown), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			retries(t, fresh(t), c.err, c.repeated)
		})
	}
}

// retries signs up with each event failing in turn: begin, four statements,
// commit.
func retries(t *testing.T, url string, cause error, repeated bool) {
	var fault sqlfault.Switch
	s := opened(t, url, Options{}, sqladapter.TestHooks{Connector: fault.Wrap, Dialect: func(d *sqladapter.Dialect) {
		retryable := d.Retryable
		d.Retryable = func(err error) bool {
			if errors.Is(err, sqlfault.ErrFault) {
				err = cause
			}
			return retryable(err)
		}
	}})
	if _, err := s.GetMeta(t.Context(), "prepare"); !errors.Is(err, authsvc.ErrNotFound) {
		t.Fatal(err)
	}
	for n := 1; n <= 6; n++ {
		id := fmt.Sprint(n)
		acc := authsvc.Account{ID: id, Type: "oauth", Provider: "p", ProviderAccountID: id}
		rec := authsvc.SessionRecord{ID: id, SessionToken: id, Digest: id, Expires: time.Now()}
		fault.Arm(n, false)
		_, err := s.SignUp(t.Context(), authsvc.User{ID: id}, &acc, &rec)
		if !fault.Disarm() || (err == nil) != repeated {
			t.Errorf("event %d: %v", n, err)
		}
	}
	want := map[bool]string{true: "6", false: "0"}[repeated]
	if got := query(t, s.db, `SELECT COUNT(*) FROM authsvc_session`); got[0] != want {
		t.Errorf("%s sessions, want %s", got, want)
	}
}
