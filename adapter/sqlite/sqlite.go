// Package sqlite keeps the records of authsvc in one SQLite file, with nothing
// to install. It can share the file with a NextAuth.js application that uses
// Prisma: tables that are there are used as they are.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"modernc.org/sqlite"

	"authsvc"
	"authsvc/internal/sqladapter"
	"authsvc/internal/sqlschema"
)

// readers is how many connections read at once.
const readers = 4

// checkedWhole is the size of a file, in bytes, up to which Open checks every
// page. It takes about a second at that size. Damage inside a value cannot be
// seen, since SQLite keeps no checksums.
const checkedWhole = 64 << 20

// Naming says what the tables and columns are called; see its fields.
type Naming = sqladapter.Naming

// Options of Open. The zero value uses the names of preset prisma and does
// not migrate.
type Options struct {
	Naming Naming
	// Migrate brings the schema up to date when the file is opened.
	Migrate bool
	// Private refuses a file that everybody on the machine may read or write, as
	// is right for the compat modes, in which session tokens are stored in plain.
	Private bool
}

// A Store is an [authsvc.Adapter] over one file. Any number of processes on
// one machine may share the file.
//
// Writes go through one connection and wait up to 5 s for those of other
// processes. The file is in WAL mode with synchronous=FULL: what a method has
// acknowledged survives a crash and a power loss.
type Store struct {
	*sqladapter.Adapter
	path           string
	names          sqladapter.Names
	schema         *sqlschema.Database
	reader, writer *sql.DB
}

var _ authsvc.Adapter = (*Store)(nil)

// Open opens a file: a path, or a URL such as sqlite:authsvc.db or
// sqlite:///var/lib/authsvc.db. A missing file is created with mode 0600.
// A file that is damaged, not a database, of a newer schema than this build
// knows, that has hard links, or that is mounted without its folder is refused
// and left as it is. The context bounds opening.
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
	if err := s.connect(hooks); err != nil {
		return nil, err
	}
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	s.schema = s.tables()
	if err := s.schema.Prepare(ctx, o.Migrate); err != nil {
		return nil, err
	}
	traits, err := s.schema.Traits(ctx)
	if err == nil {
		traits.TextTimes, err = s.textTimes(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	s.Adapter, err = sqladapter.New(s.reader, s.writer, hooks.Adjust(dialect()), o.Naming, traits)
	return s, err
}

// connect makes the two pools: one connection that writes, since SQLite has
// one writer anyway and a queue in the process is fairer than its lock, and a
// few that only read.
func (s *Store) connect(hooks sqladapter.TestHooks) error {
	pool := func(reader bool, size int) (*sql.DB, error) {
		c, err := sqlite.NewConnector(dsn(s.path, reader))
		if err != nil {
			return nil, fmt.Errorf("sqlite: %w", err)
		}
		return sqladapter.Pool{Size: size}.Open(c, hooks), nil
	}
	var err error
	if s.writer, err = pool(false, 1); err != nil {
		return err
	}
	s.reader, err = pool(true, readers)
	return err
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
	if err := s.writer.QueryRowContext(ctx, query).Scan(&verdict); err != nil {
		return fmt.Errorf("sqlite: %s cannot be read: %w", s.path, err)
	}
	if verdict != "ok" {
		return fmt.Errorf("sqlite: %s is damaged (%s): restore it from a backup", s.path, verdict)
	}
	return nil
}

// Warnings returns a warning that names the files which others on the machine can
// read or write.
func (s *Store) Warnings(context.Context) ([]string, error) {
	names, err := exposed(s.path, 0o077)
	if err != nil || names == "" {
		return nil, err
	}
	return []string{"others than its owner can read or write the database: chmod go-rwx " + names}, nil
}

// Close ends all connections. Calls in flight fail.
func (s *Store) Close() error {
	var errs []error
	for _, db := range []*sql.DB{s.reader, s.writer} { // the last one writes the log back
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	return errors.Join(errs...)
}
