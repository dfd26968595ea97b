package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/adaptertest"
	"authsvc/internal/sqladapter"
	"authsvc/internal/sqlschema"
	"authsvc/internal/test/sqlfault"
)

// A shared store is one that a NextAuth.js application has open as well.
type shared struct {
	*Store
	location string
	options  Options
}

func newShared(t *testing.T, o Options, hooks sqladapter.TestHooks) shared {
	t.Helper()
	location := filepath.Join(t.TempDir(), "auth.db")
	if err := os.WriteFile(location, migrated(t, o), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := open(t.Context(), location, o, hooks)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, s)
	// No power is lost here, and waiting for the disk takes most of the time.
	if _, err := s.writer.ExecContext(t.Context(), `PRAGMA synchronous = OFF`); err != nil {
		t.Fatal(err)
	}
	return shared{s, location, o}
}

func closeAtEnd(t *testing.T, s *Store) {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// templates holds an empty migrated file per naming: migrating is slow under
// the race detector.
var templates sync.Map

func migrated(t *testing.T, o Options) []byte {
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
func (s shared) Reopen(t *testing.T) authsvc.Adapter {
	again, err := Open(t.Context(), s.location, s.options)
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, again)
	return again
}

func (s shared) exec(ctx context.Context, text string, args ...any) error {
	statement, err := s.names.Expand(text, quote)
	if err != nil {
		return err
	}
	_, err = s.writer.ExecContext(ctx, statement, args...)
	return err
}

// ForeignSession implements [adaptertest.Foreign], in the way of newer
// versions of Prisma: time as text.
func (s shared) ForeignSession(ctx context.Context, id, token, userID string, expires time.Time) error {
	return s.exec(ctx, `INSERT INTO {Session} ({Session.id}, {Session.sessionToken}, {Session.userId}, {Session.expires}) VALUES (?, ?, ?, ?)`,
		id, token, userID, expires.Format("2006-01-02T15:04:05.000Z07:00"))
}

// ForeignSignOut implements [adaptertest.Foreign].
func (s shared) ForeignSignOut(ctx context.Context, token string) error {
	return s.exec(ctx, `DELETE FROM {Session} WHERE {Session.sessionToken} = ?`, token)
}

func TestAdapter(t *testing.T) {
	t.Parallel()
	adaptertest.Run(t, func(t *testing.T) authsvc.Adapter { return newShared(t, Options{}, sqladapter.TestHooks{}) })
}

// awkward are names of preset snake, some of which need quoting.
func awkward() Options {
	return Options{Naming: Naming{
		Preset:  "snake",
		Tables:  map[string]string{"User": `us"er {?}`},
		Columns: map[string]string{"User.email": `mail "?" {x}`},
	}}
}

// The suite in the words of a database that has no RETURNING, and with other
// names.
func TestAdapterWithoutReturning(t *testing.T) {
	t.Parallel()
	test := sqladapter.TestHooks{Dialect: func(d *sqladapter.Dialect) { d.Returning = false }}
	adaptertest.Run(t, func(t *testing.T) authsvc.Adapter { return newShared(t, awkward(), test) })
}

// Dump implements [sqlfault.Store].
func (s shared) Dump(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, table := range query(t, s.writer, `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> ? ORDER BY name`, sqlschema.VersionTable) {
		fmt.Fprintln(&b, table, query(t, s.writer, `SELECT * FROM `+quote(table)+` ORDER BY 1`))
	}
	return b.String()
}

// query returns rows as text.
func query(t *testing.T, db *sql.DB, text string, args ...any) (list []string) {
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

// A step that the database asks to repeat is repeated, from its beginning.
func TestRetry(t *testing.T) {
	t.Parallel()
	var fault sqlfault.Switch
	s := newShared(t, Options{}, sqladapter.TestHooks{Connector: fault.Wrap, Dialect: func(d *sqladapter.Dialect) {
		d.Retryable = func(err error) bool { return errors.Is(err, sqlfault.ErrFault) }
	}})
	if err := s.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 6; n++ { // begin, four statements, commit
		id := fmt.Sprint(n)
		acc := authsvc.Account{ID: id, Type: "oauth", Provider: "p", ProviderAccountID: id}
		rec := authsvc.SessionRecord{ID: id, SessionToken: id, Digest: id, Expires: time.Now()}
		fault.Arm(n, false)
		_, err := s.SignUp(t.Context(), authsvc.User{ID: id}, &acc, &rec)
		if !fault.Disarm() || err != nil {
			t.Errorf("event %d: %v", n, err)
		}
	}
	if got := query(t, s.writer, `SELECT COUNT(*) FROM authsvc_session`); got[0] != "6" {
		t.Errorf("%s sessions", got)
	}
}

func TestEveryStatementFailing(t *testing.T) {
	t.Parallel()
	open := func(returning bool) func(*testing.T, func(driver.Connector) driver.Connector) sqlfault.Store {
		return func(t *testing.T, wrap func(driver.Connector) driver.Connector) sqlfault.Store {
			return newShared(t, Options{}, sqladapter.TestHooks{Connector: wrap, Dialect: func(d *sqladapter.Dialect) { d.Returning = returning }})
		}
	}
	sqlfault.Run(t, open(true))
	t.Run("without returning", func(t *testing.T) {
		t.Parallel()
		sqlfault.Run(t, open(false), "TakeToken", "ClaimMail")
	})
}
