// Package sqlschema keeps the tables of a SQL store: it finds out what is
// there, makes what is missing, refuses what cannot be used, and reports to
// [sqladapter] what is particular about tables that others made.
//
// Authsvc's own tables begin with authsvc_. The four shared tables are made
// when they are not there; when they are, only indexes are added to them.
package sqlschema

import (
	"context"
	"database/sql"
	"io/fs"
	"strings"
	"time"

	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"authsvc/internal/sql/sqladapter"
)

// A Database describes a SQL database so that its tables can be kept.
// All fields are required unless they say otherwise.
type Database struct {
	// Scheme begins errors, such as "postgres".
	Scheme string
	// Where names the database in errors, without a password.
	Where string
	// DB connects as a user who may change the schema.
	DB    *sql.DB
	Names sqladapter.Names
	Quote func(name string) string
	// Files has a folder schema with user.sql, account.sql, session.sql and
	// verificationtoken.sql, which make one shared table each, and NAME.up.sql
	// and NAME.down.sql for own tables. Statements end with ";\n" and can be
	// repeated. Names in braces are logical ones; {type User.id} is the type of
	// a column that is there, and {text} is KeyType.
	Files fs.FS
	// KeyType is the type of text that is compared byte for byte, as keys of own
	// tables are. Nil: {text} is not used.
	KeyType func(ctx context.Context, q Querier) (string, error)
	// Inspect describes a table of the database's own name, and returns nil
	// when there is none.
	Inspect func(ctx context.Context, q Querier, table string) (*Table, error)
	// InspectAll describes the tables that are there by their names. Nil: one by
	// one.
	InspectAll func(ctx context.Context, q Querier, tables []string) (map[string]*Table, error)
	// FoldNames: names of columns are not case-sensitive.
	FoldNames bool
	// FoldText: text is usually compared loosely in tables of this database
	// that others made, so the adapter looks twice. Else it is refused.
	FoldText bool
	// TimeIndex is the expression of an index over a time column that the
	// sweep uses. Nil: the column.
	TimeIndex func(column string) string
	// Dialect is goose's name for the database.
	Dialect database.Dialect
	// Versions wraps what keeps goose's table. Nil: it is used as it is.
	Versions func(database.Store) database.Store
	// NewLock makes the lock that makes processes migrate one after the other.
	// Nil: Versions refuses what another process has done.
	NewLock func(...lock.TableLockerOption) (lock.Locker, error)
	// NoSuchTable reports that a statement names a table that is not there.
	NoSuchTable func(error) bool
	// LostRace reports that another process was first.
	LostRace func(error) bool

	// Commits: the database commits what changes a table at once, so nothing can be
	// tried and taken back.
	Commits bool

	prepared Tables // what Prepare found
	// PingTimeout bounds Ping. 0: only its context does.
	PingTimeout time.Duration
}

// PingTimeout is that of a database on another machine.
const PingTimeout = 5 * time.Second

// VersionTable is where goose notes which migrations were applied.
const VersionTable = "authsvc_goose"

// LockTable is where goose notes who migrates.
const LockTable = "authsvc_goose_lock"

// A Querier is a connection pool, a connection or a transaction.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// A Table is one that is there.
type Table struct {
	Columns    []Column
	Indexes    []Index
	References []Reference
}

// A Column of a table.
type Column struct {
	Name       string
	Type       string // as a CREATE TABLE would have it, with collation
	Number     bool   // holds integers
	UUID       bool   // holds UUIDs
	Size       int    // of a text, in characters, or of an integer, in bytes; 0: enough
	Folded     bool   // text that is not compared byte for byte
	Required   bool   // an INSERT must name it
	HasDefault bool   // the database makes a value when it is given none
	// Precision of a time that holds less than milliseconds; 0: enough.
	Precision time.Duration
}

// An Index over columns, not partial. One over an expression has no columns.
type Index struct {
	Name    string
	Columns []string
	Unique  bool
	Folded  bool // does not compare byte for byte
}

// A Reference is a foreign key.
type Reference struct {
	Column, Table string
	Cascade       bool // ON DELETE CASCADE
}

// tables are the shared ones, in the order in which they can be made.
func tables() []string { return []string{"User", "Account", "Session", "VerificationToken"} }

// sameName compares two names of columns or tables.
func (d *Database) sameName(a, b string) bool {
	return a == b || d.FoldNames && strings.EqualFold(a, b)
}

// column finds a logical column, such as "User.email".
func (d *Database) column(t *Table, logical string) *Column {
	return d.named(t, d.Names[logical])
}

// named finds a column by the database's own name.
func (d *Database) named(t *Table, name string) *Column {
	for i := range t.Columns {
		if d.sameName(t.Columns[i].Name, name) {
			return &t.Columns[i]
		}
	}
	return nil
}

// Tables are the shared tables by their logical names; those that are not there
// are absent.
type Tables map[string]*Table

// Tables describes the shared tables.
func (d *Database) Tables(ctx context.Context) (Tables, error) { return d.inspect(ctx, d.DB) }

func (d *Database) inspect(ctx context.Context, q Querier) (Tables, error) {
	all, err := d.inspectAll(ctx, q)
	found := Tables{}
	for _, logical := range tables() {
		if t := all[d.Names[logical]]; t != nil {
			found[logical] = t
		}
	}
	return found, err
}

func (d *Database) inspectAll(ctx context.Context, q Querier) (map[string]*Table, error) {
	var names []string
	for _, logical := range tables() {
		names = append(names, d.Names[logical])
	}
	if d.InspectAll != nil {
		return d.InspectAll(ctx, q, names)
	}
	all := map[string]*Table{}
	for _, name := range names {
		var err error
		if all[name], err = d.Inspect(ctx, q, name); err != nil {
			return nil, err
		}
	}
	return all, nil
}
