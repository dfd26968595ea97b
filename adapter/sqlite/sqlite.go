// Package sqlite keeps the records of authsvc in one SQLite file; there is nothing to
// install. It can share the file with a NextAuth.js application that uses Prisma:
// existing tables are used unchanged.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"authsvc/adapter"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/sql/sqlschema"
)

// checkedWhole is the file size, in bytes, up to which Open checks every page. At that
// size the check takes about a second. It cannot find damage inside values, since
// SQLite keeps no checksums.
const checkedWhole = 64 << 20

// Naming gives the names of tables and columns; see its fields.
type Naming = sqladapter.Naming

// Options configures Open. The zero value uses the names of preset prisma and does not
// migrate.
type Options struct {
	Naming Naming
	// Migrate brings the schema up to date when Open opens the file.
	Migrate bool
	// Private refuses a file that every user of the machine may read or write. Use it
	// for the compat modes, which store session tokens in plain text.
	Private bool
	// Shares means that the shared tables should be those of another program, as in the
	// compat modes. If tables that look like them exist, Migrate refuses to create them.
	Shares bool
}

// A Store is an [adapter.Adapter] backed by one file. Any number of processes on one
// machine may share the file.
//
// Writes go through one connection and wait up to 5 s for other processes' writes. The
// file uses WAL mode with synchronous=FULL: acknowledged writes survive a crash or a
// power loss.
type Store struct {
	*sqladapter.Adapter
	path   string
	names  sqladapter.Names
	schema *sqlschema.Database
	db     *sql.DB // for the schema
	reader *pool
	writer *pool
}

var _ adapter.Adapter = (*Store)(nil)

// Open opens a file. location is a path, or a URL such as sqlite:authsvc.db or
// sqlite:///var/lib/authsvc.db. A missing file is created with mode 0600. Open refuses
// a file that is damaged, is not a database, has a newer schema than this build knows,
// has hard links, or is mounted without its folder; it leaves such a file unchanged.
// ctx applies only to opening.
func Open(ctx context.Context, location string, o Options) (*Store, error) {
	return open(ctx, location, o, sqladapter.TestHooks{})
}

func open(ctx context.Context, location string, o Options, hooks sqladapter.TestHooks) (_ *Store, err error) {
	path, err := parsePath(location)
	if err != nil {
		return nil, err
	}
	names, err := o.Naming.Resolve()
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	defer func() { err = explain(path, err) }()
	if err := ensureFile(ctx, path); err != nil {
		return nil, err
	}
	if o.Private {
		if err := checkPrivate(path); err != nil {
			return nil, err
		}
	}
	s := &Store{path: path, names: names}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if err := s.connect(); err != nil {
		return nil, err
	}
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	s.schema = s.tables(o)
	found, err := s.schema.Prepare(ctx, o.Migrate)
	if err != nil {
		return nil, err
	}
	traits := s.schema.Traits(found)
	if traits.TextTimes, err = s.textTimes(ctx, found); err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	for _, logical := range []string{"Account.userId", "Session.userId"} { // of the other columns, an index tells
		if traits.Folded[logical], err = s.folds(ctx, found, logical); err != nil {
			return nil, fmt.Errorf("sqlite: %w", err)
		}
	}
	d := dialect()
	d.Referring = s.referring
	s.Adapter, err = sqladapter.New(hooks.Wrap(s.reader), hooks.Wrap(s.writer), hooks.Adjust(d), o.Naming, traits)
	return s, err
}

// connect creates the pools. It does not connect yet.
func (s *Store) connect() error {
	c, err := sqlite.NewConnector(dsn(s.path))
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	s.db = sqladapter.Pool{Size: 1}.Open(c, sqladapter.TestHooks{})
	s.reader, s.writer = newReaders(s.path), newWriter(s.path)
	return nil
}

// check reads as much of the file as is affordable.
func (s *Store) check(ctx context.Context) error {
	info, err := os.Stat(s.path)
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	query := `PRAGMA quick_check(1)`
	if info.Size() > checkedWhole {
		query = `SELECT CASE WHEN COUNT(*) >= 0 THEN 'ok' END FROM sqlite_schema`
	}
	var verdict string
	if err := s.db.QueryRowContext(ctx, query).Scan(&verdict); err != nil {
		err = fmt.Errorf("sqlite: %s cannot be read: %w", s.path, err)
		if is(lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB)(err) {
			err = damagedError{err}
		}
		return err
	}
	if verdict != "ok" {
		return damagedError{fmt.Errorf("sqlite: %s is damaged (%s): restore it from a backup", s.path, verdict)}
	}
	return nil
}

// Warnings lists problems in other programs' tables that do not stop authsvc from using
// them, and names the files that other users of the machine can read or write.
func (s *Store) Warnings(ctx context.Context) ([]string, error) {
	list, err := s.schema.Warnings(ctx)
	if err != nil {
		return nil, err
	}
	names, err := exposed(s.path, 0o077)
	if err != nil || names == "" {
		return list, err
	}
	return append(list, "users other than its owner can read or write the database: chmod go-rwx "+names), nil
}

// Close waits for the calls in flight, then closes all connections.
func (s *Store) Close() error {
	if s.db == nil {
		return nil
	}
	return errors.Join(s.reader.Close(), s.db.Close(), s.writer.Close()) // the last one checkpoints the log
}
