package mysql

import (
	"context"
	"embed"

	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"authsvc/internal/sql/sqlschema"
	"authsvc/internal/sql/stores"
)

// Types used by Migrate, Shared and Status.
type (
	Direction   = stores.Direction
	Migration   = stores.Migration
	SharedTable = stores.SharedTable
	Status      = stores.Status
)

// The directions of Migrate.
const (
	Up   = stores.Up
	Down = stores.Down
)

// files holds the SQL of the schema, with logical names in braces. The database commits
// after each statement, so each statement can be repeated.
//
//go:embed schema/*.sql
var files embed.FS

// tables describes the database for package sqlschema.
func (s *Store) tables(o Options) *sqlschema.Database {
	return &sqlschema.Database{
		Scheme: "mysql", Where: s.target.where, DB: s.db, Naming: o.Naming, Names: s.names, Shares: o.Shares, Quote: quote, Files: files,
		KeyType: func(context.Context, sqlschema.Querier) (string, error) { return s.server.keyType(), nil },
		Inspect: inspect, AllColumns: allColumns, Typing: sqlschema.Converting, Remedy: remedy, FoldNames: true, FoldText: true, Dialect: database.DialectMySQL, PingTimeout: sqlschema.PingTimeout,
		Versions: func(base database.Store) database.Store { return versions{base} },
		NewLock:  lock.NewMySQLTableLocker, LostRace: lostRace, NoSuchTable: is(errNoSuchTable), Commits: true,
	}
}

// lostRace reports whether an object already exists: the server may have finished the
// statement of a process that was killed.
func lostRace(err error) bool {
	return retryable(err) || is(errTableExists, errKeyName, errDuplicate)(err)
}

// Statements calls show with every statement that Migrate would execute to bring the
// schema up to date. It changes nothing.
func (s *Store) Statements(ctx context.Context, show func(m Migration, statement string)) error {
	return s.schema.Statements(ctx, show)
}

// Status reports which migrations have been applied. It writes nothing.
func (s *Store) Status(ctx context.Context) (Status, error) { return s.schema.Status(ctx) }

// Shared lists the tables that a NextAuth.js application may share, with their rows. It
// writes nothing.
func (s *Store) Shared(ctx context.Context) ([]SharedTable, error) { return s.schema.Shared(ctx) }

// Usable returns the error with which Migrate would refuse to bring the schema up to
// date, or nil. It writes nothing.
func (s *Store) Usable(ctx context.Context) error { return s.schema.Usable(ctx) }

// Migrate changes the schema. Any number of processes may call it at once: each
// migration is applied once, and every call returns when it is done. If an existing
// table cannot be used, Migrate returns an error and changes nothing.
//
// MySQL cannot roll back a schema change. If a process is killed during a migration,
// its changes remain and the next process continues from there, after waiting up to 10
// s for a lease to expire. While Migrate adds indexes to another program's large
// tables, that program can read and write, except at the start and end: there MySQL
// waits for open transactions, and new ones wait for MySQL.
func (s *Store) Migrate(ctx context.Context, d Direction) error { return s.schema.Migrate(ctx, d) }

// versions handles an interruption between creating the version table and writing its
// first row, which the database cannot do in one transaction.
type versions struct{ database.Store }

var _ database.StoreExtender = versions{}

// TableExists implements [database.StoreExtender].
func (versions) TableExists(ctx context.Context, db database.DBTxConn) (bool, error) {
	const query = `SELECT EXISTS (SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?)`
	var exists bool
	if err := db.QueryRowContext(ctx, query, sqlschema.VersionTable).Scan(&exists); err != nil || !exists {
		return false, err
	}
	err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM `+sqlschema.VersionTable+` WHERE version_id = 0)`).Scan(&exists)
	return exists, err
}

// CreateVersionTable implements [database.Store].
func (versions) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+sqlschema.VersionTable+` (
		id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
		version_id BIGINT NOT NULL UNIQUE,
		is_applied BOOLEAN NOT NULL,
		tstamp DATETIME NULL DEFAULT CURRENT_TIMESTAMP
	) ENGINE=InnoDB`)
	return err
}

// Ping implements [adapter.Adapter]. It fails if the server does not answer or the
// schema is older than this build needs.
func (s *Store) Ping(ctx context.Context) error { return s.schema.Ping(ctx) }

// Warnings lists problems in other programs' tables that do not stop authsvc from using
// them.
func (s *Store) Warnings(ctx context.Context) ([]string, error) { return s.schema.Warnings(ctx) }
