// Package sqltest holds the tests that every SQL adapter must pass in addition to the
// adapter contract, and helpers for the adapters' own tests.
package sqltest

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"strings"
	"testing"

	"authsvc/adapter"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/sql/sqlschema"
	"authsvc/internal/sql/stores"
)

// A Store is an adapter with the methods that SQL adapters add to the contract.
type Store interface {
	adapter.Adapter
	Status(context.Context) (stores.Status, error)
	Migrate(context.Context, stores.Direction) error
	Statements(context.Context, func(stores.Migration, string)) error
	Shared(context.Context) ([]stores.SharedTable, error)
	Usable(context.Context) error
	Warnings(context.Context) ([]string, error)
	Close() error
}

// A Database gives tests access to one kind of database.
type Database struct {
	// Scheme starts the errors of Open, such as "postgres".
	Scheme string
	// Empty returns the URL of an empty database.
	Empty func(testing.TB) string
	// Open opens a store with the default names.
	Open func(ctx context.Context, url string, migrate bool) (Store, error)
	// Connect connects as another program would.
	Connect func(url string) (*sql.DB, error)
	// Unreachable is the adapter's function of that name. Nil: it has none.
	Unreachable func(error) bool
	Dialect     sqladapter.Dialect

	// Tables and Indexes are queries for their names. Unique queries the names of
	// unique indexes on other tables than authsvc's own.
	Tables, Indexes, Unique string
	// Definitions are queries that describe tables of other programs, without the
	// indexes that authsvc adds.
	Definitions []string
}

// Opened opens a store until the test ends.
func (d *Database) Opened(t testing.TB, url string, migrate bool) Store {
	t.Helper()
	s, err := d.Open(t.Context(), url, migrate)
	if err != nil {
		t.Fatal(err)
	}
	CloseAtEnd(t, s)
	return s
}

// Connected opens a connection until the test ends.
func (d *Database) Connected(t testing.TB, url string) *sql.DB {
	t.Helper()
	db, err := d.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	CloseAtEnd(t, db)
	return db
}

// With returns the URL of a database in which another program has run statements.
func (d *Database) With(t testing.TB, statements string) string {
	t.Helper()
	url := d.Empty(t)
	if err := d.Execute(t.Context(), url, statements); err != nil {
		t.Fatal(err)
	}
	return url
}

// Execute runs statements of another program. Each ends with ";\n".
func (d *Database) Execute(ctx context.Context, url, statements string) error {
	db, err := d.Connect(url)
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

// Prepare runs another program's statements in an empty database, then opens and
// migrates a store.
func (d *Database) Prepare(url, statements string, open func(ctx context.Context, url string) (Store, error)) error {
	ctx := context.Background()
	if err := d.Execute(ctx, url, statements); err != nil {
		return err
	}
	s, err := open(ctx, url)
	if err != nil {
		return err
	}
	return s.Close()
}

// own lists authsvc's own tables, without goose's.
func (d *Database) own(t testing.TB, db *sql.DB) (list []string) {
	t.Helper()
	for _, name := range Query(t, db, d.Tables) {
		if strings.HasPrefix(name, "authsvc_") && name != sqlschema.VersionTable && name != sqlschema.LockTable {
			list = append(list, name)
		}
	}
	return list
}

// added lists everything that authsvc has created.
func (d *Database) added(t testing.TB, db *sql.DB) (list []string) {
	t.Helper()
	for _, name := range append(Query(t, db, d.Tables), Query(t, db, d.Indexes)...) {
		if strings.HasPrefix(name, "authsvc_") {
			list = append(list, name)
		}
	}
	return list
}

// dump returns the rows of all tables as text, in a fixed order.
func (d *Database) dump(t testing.TB, db *sql.DB) string {
	t.Helper()
	var b strings.Builder
	for _, table := range Query(t, db, d.Tables+` ORDER BY 1`) {
		if table == sqlschema.VersionTable || table == sqlschema.LockTable {
			continue
		}
		rows := Query(t, db, `SELECT * FROM `+d.Dialect.Quote(table)+` ORDER BY 1`)
		if table == "authsvc_meta" && len(rows) == 1 && strings.HasPrefix(rows[0], "mail queue") {
			rows = nil // a row that only serves as a lock
		}
		fmt.Fprintln(&b, table, rows)
	}
	return b.String()
}

// Query returns rows as text.
func Query(t testing.TB, db *sql.DB, text string, args ...any) (list []string) {
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
		line := make([]string, len(columns))
		for i, c := range cells {
			if line[i] = c.String; !c.Valid {
				line[i] = "<nil>"
			}
		}
		list = append(list, strings.Join(line, " "))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// Replace returns a schema with one piece replaced. The piece must exist.
func Replace(t testing.TB, schema, old, changed string) string {
	t.Helper()
	if !strings.Contains(schema, old) {
		t.Fatal("the test does not change the schema")
	}
	return strings.Replace(schema, old, changed, 1)
}

// CloseAtEnd closes c when the test ends.
func CloseAtEnd(t testing.TB, c io.Closer) {
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Rename replaces quoted names in a schema.
func Rename(schema string, names map[string]string) string {
	var pairs []string
	for old, changed := range names {
		pairs = append(pairs, old, changed)
	}
	return strings.NewReplacer(pairs...).Replace(schema)
}
