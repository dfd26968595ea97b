// Package mysql keeps the records of authsvc in MySQL or MariaDB. It can share
// the database with a NextAuth.js application: tables that are there are used
// as they are.
//
// It needs MySQL 8.0.17 or MariaDB 10.6. It is tested with MariaDB 10.11, and
// meant for MySQL 8 as well, with which it was not run. Where the two differ,
// it knows both (the name of the collation that compares bytes) or uses neither
// (RETURNING, CREATE INDEX IF NOT EXISTS).
//
// Tables that authsvc makes compare text byte for byte. Those that Prisma and
// others make often ignore case, accents and trailing blanks; then what the
// database finds is compared again, and a second record that it takes for the
// first is refused with a clear error.
//
// All replicas of authsvc have to talk to one primary: a server that lags
// behind would know of a sign-out too late. With binary logging, binlog_format
// has to be ROW or MIXED, as it is by default.
package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"authsvc"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/sql/sqlschema"
)

// Naming says what the tables and columns are called; see its fields.
type Naming = sqladapter.Naming

// Options of Open. The zero value uses the names of preset prisma and does
// not migrate.
type Options struct {
	Naming Naming
	// Migrate brings the schema up to date when the database is opened.
	Migrate bool
}

// A Store is an [authsvc.Adapter] over one database. Any number of processes
// may share it.
type Store struct {
	*sqladapter.Adapter
	target *target
	server server
	names  sqladapter.Names
	schema *sqlschema.Database
	db     *sql.DB
}

var (
	_ authsvc.Adapter = (*Store)(nil)
	_ authsvc.Clock   = (*Store)(nil)
)

// Open opens a database:
//
//	mysql://USER:PASSWORD@HOST:3306/DATABASE
//	mysql://USER:PASSWORD@/DATABASE?socket=/run/mysqld/mysqld.sock
//
// The scheme may be mariadb as well. The URL takes these parameters, and no
// others:
//
//	tls                      true: TLS 1.2 or newer, and the server's certificate is
//	                         verified, which is the default for every host that is not
//	                         this machine; skip-verify: anybody's certificate will do;
//	                         false: everything, passwords too, goes in the clear, which
//	                         is the default for 127.0.0.0/8, ::1 and localhost
//	tls_ca                   file with the authorities in PEM form; default: the system's
//	timeout                  of connecting; default 5s
//	pool_max_conns           connections at once; default 10
//	pool_max_conn_idle_time  after which an idle one is closed; default 5m
//	pool_max_conn_lifetime   after which any is closed; default 1h
//
// Errors say what to do, in one line, and hold no password; [Unreachable]
// reports whether waiting may help. A schema that is newer than this build knows
// is refused and left as it is. The context bounds opening.
func Open(ctx context.Context, url string, o Options) (*Store, error) {
	return open(ctx, url, o, sqladapter.TestHooks{})
}

func open(ctx context.Context, url string, o Options, hooks sqladapter.TestHooks) (_ *Store, err error) {
	s := &Store{}
	if s.target, err = parseURL(url); err != nil {
		return nil, err
	}
	if s.names, err = o.Naming.Resolve(); err != nil {
		return nil, fmt.Errorf("mysql: %w", err)
	}
	if s.db, err = s.target.open(hooks); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.db.Close()
		}
	}()
	if s.server, err = detectServer(ctx, s.db); err != nil {
		return nil, s.target.explain(err)
	}
	s.schema = s.tables()
	found, err := s.schema.Prepare(ctx, o.Migrate)
	if err != nil {
		return nil, s.target.explain(err)
	}
	db := sqladapter.SQL(s.db, sql.LevelDefault)
	if s.Adapter, err = sqladapter.New(db, db, hooks.Adjust(dialect(s.server)), o.Naming, s.schema.Traits(found)); err != nil {
		return nil, fmt.Errorf("mysql: %w", err)
	}
	return s, nil
}

// Close ends all connections. Calls in flight fail.
func (s *Store) Close() error { return s.db.Close() }

// Now implements [authsvc.Clock].
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.Clock(ctx) }
