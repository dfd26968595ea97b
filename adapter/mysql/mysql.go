// Package mysql keeps the records of authsvc in MySQL or MariaDB. It can share the
// database with a NextAuth.js application: existing tables are used unchanged.
//
// It needs MySQL 8.0.17 or MariaDB 10.6. It is tested with MariaDB 10.11. It is written
// for MySQL 8 too, but has not been run with it. Where the two differ, it supports both
// (the name of the collation that compares bytes) or uses neither (RETURNING, CREATE
// INDEX IF NOT EXISTS).
//
// Tables created by authsvc compare text byte for byte. Tables created by Prisma and
// others often ignore case, accents and trailing blanks. The package then compares the
// rows it finds again. If the database takes a new record for a duplicate of an
// existing one, the package refuses it with a clear error.
//
// All replicas of authsvc must use the same primary: a lagging server would learn of a
// sign-out too late. With binary logging, binlog_format must be ROW or MIXED, as it is
// by default.
package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"authsvc/adapter"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/sql/sqlschema"
)

// Naming gives the names of tables and columns; see its fields.
type Naming = sqladapter.Naming

// Options configures Open. The zero value uses the names of preset prisma and does not
// migrate.
type Options struct {
	Naming Naming
	// Migrate brings the schema up to date when Open opens the database.
	Migrate bool
	// Shares means that the shared tables should be those of another program, as in the
	// compat modes. If tables that look like them exist, Migrate refuses to create them.
	Shares bool
}

// A Store is an [adapter.Adapter] backed by one database. Any number of processes may
// share it.
type Store struct {
	*sqladapter.Adapter
	target *target
	server server
	names  sqladapter.Names
	schema *sqlschema.Database
	db     *sql.DB
}

var (
	_ adapter.Adapter = (*Store)(nil)
	_ adapter.Clock   = (*Store)(nil)
)

// Open opens a database:
//
//	mysql://USER:PASSWORD@HOST:3306/DATABASE
//	mysql://USER:PASSWORD@/DATABASE?socket=/run/mysqld/mysqld.sock
//
// The scheme may also be mariadb. The URL takes only these parameters:
//
//	tls                      true: TLS 1.2 or newer with a verified certificate, the
//	                         default for all hosts except this machine; skip-verify: any
//	                         certificate is accepted; false: everything, including
//	                         passwords, is sent in plain text, the default for
//	                         127.0.0.0/8, ::1 and localhost
//	tls_ca                   PEM file with the trusted authorities; default: the system's
//	timeout                  of connecting; default: 5s
//	pool_max_conns           maximum number of connections; default: 10
//	pool_max_conn_idle_time  idle connections are closed after this; default: 5m
//	pool_max_conn_lifetime   all connections are closed after this; default: 1h
//
// Errors say in one line what to do and contain no password. [Unreachable] reports
// whether waiting may help. If the schema is newer than this build knows, Open returns
// an error and changes nothing. ctx applies only to opening.
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
	s.schema = s.tables(o)
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

// Close closes the connection pool. Calls in flight may fail.
func (s *Store) Close() error { return s.db.Close() }

// Now implements [adapter.Clock].
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.Clock(ctx) }
