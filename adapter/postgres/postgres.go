// Package postgres keeps the records of authsvc in PostgreSQL, CockroachDB or
// YugabyteDB. It can share the database with a NextAuth.js application that
// uses Prisma or @auth/pg-adapter: tables that are there are used as they are.
//
// PgBouncer and its like: statements are prepared and named, so either let it
// pool sessions, or transactions from version 1.21 with max_prepared_statements
// of at least 200. Nothing else of a session is relied on: no advisory locks,
// no settings, no notifications.
package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

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
//
// Everything that is read is read from the server that is written to, since a
// session that was ended must not live on in a replica that lags behind.
// Transactions that the database rolls back to resolve a conflict are tried
// again, at most 8 times, and so is what a failing server certainly did not do.
type Store struct {
	*sqladapter.Adapter
	where  string
	names  sqladapter.Names
	schema *sqlschema.Database
	pool   *pgxpool.Pool
	db     *sql.DB // over pool, for the schema
}

var (
	_ authsvc.Adapter = (*Store)(nil)
	_ authsvc.Clock   = (*Store)(nil)
)

// Open opens a database:
//
//	postgres://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE
//
// The parameters are libpq's, or settings of the session such as search_path,
// https://www.postgresql.org/docs/current/libpq-connect.html, besides:
//
//	sslmode                  default: verify-full for another machine, which
//	                         disable switches off by name (prefer and allow
//	                         are refused), and prefer for this one
//	target_session_attrs     default: read-write when several hosts are named
//	                         (HOST1:PORT,HOST2:PORT), so that the one that is
//	                         the primary is found again after a failover
//	connect_timeout          of one host, in seconds; default: 2
//	pool_max_conns           connections at once; default: 10, at least 4
//	pool_max_conn_idle_time  default: 5m
//	pool_max_conn_lifetime   default: 1h
//
// The context bounds opening. See [Unreachable] for its errors, which never
// have the password.
func Open(ctx context.Context, location string, o Options) (*Store, error) {
	return open(ctx, location, o, sqladapter.TestHooks{})
}

func open(ctx context.Context, location string, o Options, hooks sqladapter.TestHooks) (_ *Store, err error) {
	names, err := o.Naming.Resolve()
	if err != nil {
		return nil, fmt.Errorf("postgres: %w", err)
	}
	t, err := parse(location)
	if err != nil {
		return nil, err
	}
	s := &Store{where: t.where(), names: names}
	if s.pool, err = t.newPool(ctx); err != nil {
		return nil, explain(s.where, err)
	}
	s.db = stdlib.OpenDBFromPool(s.pool)
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	if err := s.check(ctx); err != nil {
		return nil, explain(s.where, err)
	}
	s.schema = s.tables()
	found, err := s.schema.Prepare(ctx, o.Migrate)
	if err != nil {
		return nil, err
	}
	db := hooks.Wrap(pgxDatabase{s.pool})
	s.Adapter, err = sqladapter.New(db, db, hooks.Adjust(dialect()), o.Naming, s.schema.Traits(found))
	return s, err
}

// check connects, and makes sure that the server can be written to.
func (s *Store) check(ctx context.Context) error {
	var only string
	if err := s.db.QueryRowContext(ctx, `SHOW transaction_read_only`).Scan(&only); err != nil {
		return err
	}
	if only == "on" {
		return pgconn.ErrReadOnlyConnection
	}
	return nil
}

// Close waits for calls in flight, which end within 5 s, and ends all
// connections.
func (s *Store) Close() error {
	err := s.db.Close()
	s.pool.Close()
	return err
}

// Now implements [authsvc.Clock].
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.Clock(ctx) }
