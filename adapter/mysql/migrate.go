package mysql

import (
	"context"
	"embed"

	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"authsvc/internal/sql/sqlschema"
	"authsvc/internal/sql/stores"
)

// The types of the schema; see their fields.
type (
	Direction = stores.Direction
	Migration = stores.Migration
	Status    = stores.Status
)

// The directions of Migrate.
const (
	Up   = stores.Up
	Down = stores.Down
)

// files are the statements of the schema, with logical names in braces. The
// database commits after each, so each can be repeated.
//
//go:embed schema/*.sql
var files embed.FS

// tables describes the database for the package that keeps its tables.
func (s *Store) tables() *sqlschema.Database {
	return &sqlschema.Database{
		Scheme: "mysql", Where: s.target.where, DB: s.db, Names: s.names, Quote: quote, Files: files,
		KeyType: func(context.Context, sqlschema.Querier) (string, error) { return s.server.keyType(), nil },
		Inspect: inspect, FoldNames: true, FoldText: true, Dialect: database.DialectMySQL, PingTimeout: sqlschema.PingTimeout,
		Versions: func(base database.Store) database.Store { return versions{base} },
		NewLock:  lock.NewMySQLTableLocker, LostRace: lostRace, NoSuchTable: is(errNoSuchTable), Commits: true,
	}
}

// lostRace recognises errors about objects that exist already: the server may have
// finished the statement of a process that was killed.
func lostRace(err error) bool {
	return retryable(err) || is(errTableExists, errKeyName, errDuplicate)(err)
}

// Statements calls show with every statement that Migrate would execute to bring
// the schema up to date, and changes nothing.
func (s *Store) Statements(ctx context.Context, show func(m Migration, statement string)) error {
	return s.schema.Statements(ctx, show)
}

// Status reports which migrations were applied. It writes nothing.
func (s *Store) Status(ctx context.Context) (Status, error) { return s.schema.Status(ctx) }

// Migrate changes the schema. Any number of processes may do so at once: each
// migration is applied once, and all return when it is. Tables that are there
// and cannot be used are refused before anything is changed.
//
// MySQL cannot take a change of the schema back, so a migration that was
// killed leaves what it has made, and the next one goes on from there; a lease
// may hold that one up for 10 s. Indexes that are added to big tables of
// another program are made while it reads and writes, but it waits for their
// beginning and end, and those wait for its transactions.
func (s *Store) Migrate(ctx context.Context, d Direction) error { return s.schema.Migrate(ctx, d) }

// versions goes on when it was interrupted between making its table and
// writing into it, as the database cannot do both at once.
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

// Ping implements [authsvc.Adapter]: the server answers and the schema is not
// older than this build needs.
func (s *Store) Ping(ctx context.Context) error { return s.schema.Ping(ctx) }

// Warnings returns what works, but not well, in tables of other programs.
func (s *Store) Warnings(ctx context.Context) ([]string, error) { return s.schema.Warnings(ctx) }
