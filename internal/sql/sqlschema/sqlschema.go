// Package sqlschema maintains the tables of a SQL store. It inspects existing tables,
// creates missing ones, refuses unusable ones, and reports the traits of tables that
// other programs created to [sqladapter].
//
// Authsvc's own tables begin with authsvc_. If the four shared tables do not exist,
// authsvc creates them; if they exist, it only adds indexes.
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

// A Database describes a SQL database whose tables this package maintains. All fields
// are required unless their comments say otherwise.
type Database struct {
	// Scheme is the prefix of errors, such as "postgres".
	Scheme string
	// Where names the database in errors, without a password.
	Where string
	// DB connects as a user who may change the schema.
	DB *sql.DB
	// Naming gives Names.
	Naming sqladapter.Naming
	Names  sqladapter.Names
	// Shares means that the shared tables should be those of another program. If tables
	// that look like them exist, Migrate refuses to create them.
	Shares bool
	Quote  func(name string) string
	// Files has a folder schema with user.sql, account.sql, session.sql and
	// verificationtoken.sql, which each create one shared table, and NAME.up.sql and
	// NAME.down.sql for our own tables. Statements must end with ";\n" and be
	// repeatable. Names in braces are logical; {type User.id} is the type of an
	// existing column, {text} is KeyType, and {columns} are Naming.UserColumns.
	Files fs.FS
	// KeyType returns the type of text that is compared byte for byte, for the keys of
	// our own tables. Nil: {text} is not used.
	KeyType func(ctx context.Context, q Querier) (string, error)
	// Inspect describes a table by its physical name, and returns nil if it does not
	// exist.
	Inspect func(ctx context.Context, q Querier, table string) (*Table, error)
	// InspectAll describes the existing tables of these names. Nil: Inspect is called
	// for each.
	InspectAll func(ctx context.Context, q Querier, tables []string) (map[string]*Table, error)
	// AllColumns selects the schema, the table and the name of every column of the
	// database, table by table. The schema is "" for tables that statements find without
	// one.
	AllColumns string
	// SchemaParameter returns the parameter of a URL that makes statements find the
	// tables of a schema, and those that they find now if keep is set. Nil: AllColumns
	// selects no schema.
	SchemaParameter func(ctx context.Context, q Querier, schema string, keep bool) (string, error)
	// FoldNames means that column names are not case-sensitive.
	FoldNames bool
	// FoldText means that tables of other programs usually compare text loosely in this
	// database, so the adapter compares again. Otherwise such text is refused.
	FoldText bool
	// Typing says how strictly the database treats the types of columns.
	Typing Typing
	// Remedy returns the statements that change a column as needed, or says what to do.
	// table is a physical name.
	Remedy func(table string, t *Table, c *Column, r Repair) string
	// TimeIndex returns the expression of an index over a time column for the sweep.
	// Nil: the column.
	TimeIndex func(column string) string
	// PrefixIndex returns the expression of an index that finds text by its prefix. Nil:
	// the column, for which the unique index suffices.
	PrefixIndex func(column string) string
	// Dialect is goose's name for the database.
	Dialect database.Dialect
	// Versions wraps the store of goose's table. Nil: it is not wrapped.
	Versions func(database.Store) database.Store
	// NewLock makes the lock that lets only one process migrate at a time. Nil:
	// Versions refuses work that another process has done.
	NewLock func(...lock.TableLockerOption) (lock.Locker, error)
	// NoSuchTable reports that a statement names a table that does not exist.
	NoSuchTable func(error) bool
	// LostRace reports that another process was first.
	LostRace func(error) bool

	// Commits means that the database commits every change of a table at once, so that
	// changes cannot be tried and rolled back.
	Commits bool

	prepared Tables   // result of Prepare
	created  []string // by Prepare: logical names of shared tables
	// PingTimeout bounds Ping. 0: only its context bounds it.
	PingTimeout time.Duration
}

// PingTimeout is the timeout for a database on another machine.
const PingTimeout = 5 * time.Second

// VersionTable is the table in which goose records the applied migrations.
const VersionTable = "authsvc_goose"

// LockTable is the table in which goose records the migrating process.
const LockTable = "authsvc_goose_lock"

// A Querier is a connection pool, a connection or a transaction.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// A Table describes an existing table.
type Table struct {
	Columns    []Column
	Indexes    []Index
	References []Reference
}

// A Column describes a column of a table.
type Column struct {
	Name       string
	Type       string // as in CREATE TABLE, with collation
	Number     bool   // holds integers
	UUID       bool   // holds UUIDs
	Size       int    // of text, in characters, or of an integer, in bytes; 0: enough
	Folded     bool   // text not compared byte for byte
	Base       string // the built-in type that Type is based on; empty: Type
	NotNull    bool   // NULL is refused
	Generated  bool   // the database computes it, and refuses other values
	Required   bool   // an INSERT must name it
	HasDefault bool   // the database supplies a missing value
	// Precision is the precision of a time that does not hold milliseconds; 0: enough.
	Precision time.Duration
}

// An Index covers columns and is not partial. An index over an expression has no
// columns.
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

// tables lists the shared tables, in the order in which they can be created.
func tables() []string { return []string{"User", "Account", "Session", "VerificationToken"} }

// sameName compares two names of columns or tables.
func (d *Database) sameName(a, b string) bool {
	return a == b || d.FoldNames && strings.EqualFold(a, b)
}

// column finds a column by its logical name, such as "User.email".
func (d *Database) column(t *Table, logical string) *Column {
	return d.named(t, d.Names[logical])
}

// named finds a column by its physical name.
func (d *Database) named(t *Table, name string) *Column {
	for i := range t.Columns {
		if d.sameName(t.Columns[i].Name, name) {
			return &t.Columns[i]
		}
	}
	return nil
}

// Tables maps logical names to the existing shared tables.
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
