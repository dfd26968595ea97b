package sqlite

import (
	"context"
	"embed"

	"github.com/pressly/goose/v3/database"
	lib "modernc.org/sqlite/lib"

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

// files holds the SQL of the schema, with logical names in braces.
//
//go:embed schema/*.sql
var files embed.FS

// tables describes the file for package sqlschema.
func (s *Store) tables(o Options) *sqlschema.Database {
	return &sqlschema.Database{
		Scheme: "sqlite", Where: s.path, DB: s.db, Naming: o.Naming, Names: s.names, Shares: o.Shares, Quote: quote, Files: files,
		Inspect: catalog.Describe, AllColumns: allColumns, Typing: sqlschema.Untyped, Remedy: remedy, NoSuchTable: noSuchTable, FoldNames: true, TimeIndex: timeExpr, Dialect: database.DialectSQLite3,
		Versions: func(base database.Store) database.Store { return versions{base} }, LostRace: lostRace,
	}
}

// lostRace reports that another process has done a migration, or has held the write lock
// for as long as a connection waits. SQLite's lock has no queue: if many processes start
// at once on a busy machine, one of them can lose it to the others again and again.
func lostRace(err error) bool {
	return dialect().Unique(err) || primary(err, lib.SQLITE_BUSY)
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
func (s *Store) Migrate(ctx context.Context, d Direction) error { return s.schema.Migrate(ctx, d) }

// versions makes the version table refuse a duplicate version. SQLite has no lock that
// goose could hold, so two processes may try the same migration one after the other;
// the second one then fails and is rolled back.
type versions struct{ database.Store }

// CreateVersionTable implements [database.Store].
func (versions) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+sqlschema.VersionTable+` (
		id INTEGER PRIMARY KEY,
		version_id INTEGER NOT NULL UNIQUE,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	)`)
	return err
}

// Insert implements [database.Store]. goose inserts a row for version 0 when it creates
// the version table. If that row exists, Insert leaves it as it is.
func (v versions) Insert(ctx context.Context, db database.DBTxConn, r database.InsertRequest) error {
	if r.Version != 0 {
		return v.Store.Insert(ctx, db, r)
	}
	_, err := db.ExecContext(ctx, `INSERT OR IGNORE INTO `+sqlschema.VersionTable+` (version_id, is_applied) VALUES (0, 1)`)
	return err
}

// Ping implements [adapter.Adapter]. It fails if the file cannot be queried or its
// schema is older than this build needs.
func (s *Store) Ping(ctx context.Context) error { return s.schema.Ping(ctx) }
