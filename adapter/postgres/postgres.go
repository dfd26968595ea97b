// Package postgres keeps the records of authsvc in PostgreSQL, CockroachDB or
// YugabyteDB. It can share the database with a NextAuth.js application that uses Prisma
// or @auth/pg-adapter: existing tables are used unchanged.
//
// Statements are prepared and named. For a pooler such as PgBouncer that pools
// transactions, the URL must therefore have default_query_exec_mode=exec, unless it is
// PgBouncer 1.21 or later with max_prepared_statements of at least 200. The package
// relies on nothing else in a session: it uses no advisory locks, settings or
// notifications.
package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

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
//
// All reads go to the server that takes the writes: on a lagging replica, a session
// that has ended would still be valid. A transaction is retried, at most 8 times, if
// the database rolls it back to resolve a conflict, or if it failed and certainly had
// no effect.
type Store struct {
	*sqladapter.Adapter
	where  string
	names  sqladapter.Names
	schema *sqlschema.Database
	pool   *pgxpool.Pool
	db     *sql.DB // over pool, for the schema
}

var (
	_ adapter.Adapter = (*Store)(nil)
	_ adapter.Clock   = (*Store)(nil)
)

// Open opens a database:
//
//	postgres://USER:PASSWORD@HOST:PORT/DATABASE?NAME=VALUE
//
// Parameters are libpq's or session settings such as search_path; see
// https://www.postgresql.org/docs/current/libpq-connect.html. These have their own
// defaults or are additions:
//
//	sslmode                  default: verify-full for another machine, prefer
//	                         for this one; only an explicit disable turns TLS
//	                         off for another machine (prefer and allow are
//	                         refused)
//	target_session_attrs     default: read-write when several hosts are named
//	                         (HOST1:PORT,HOST2:PORT), to find the primary again
//	                         after a failover
//	connect_timeout          per host, in seconds; default: 2
//	default_query_exec_mode  default: cache_statement, which prepares statements;
//	                         exec prepares none, for a pooler that pools
//	                         transactions
//	pool_max_conns           maximum number of connections; default: 10, at
//	                         least 4
//	pool_max_conn_idle_time  default: 5m
//	pool_max_conn_lifetime   default: 1h
//
// ctx applies only to opening. See [Unreachable] for the errors; none contains the
// password.
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
	s.schema = s.tables(o)
	found, err := s.schema.Prepare(ctx, o.Migrate)
	if err != nil {
		return nil, explained(s.where, err)
	}
	db := hooks.Wrap(pgxDatabase{s.pool})
	s.Adapter, err = sqladapter.New(db, db, hooks.Adjust(dialect()), o.Naming, s.schema.Traits(found))
	return s, err
}

// check connects and verifies that the server accepts writes.
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

// Close waits for calls in flight, which end within 5 s, then closes all connections.
func (s *Store) Close() error {
	err := s.db.Close()
	s.pool.Close()
	return err
}

// Now implements [adapter.Clock].
func (s *Store) Now(ctx context.Context) (time.Time, error) { return s.Clock(ctx) }
