package postgres

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

// files holds the SQL of the schema, with logical names in braces.
//
//go:embed schema/*.sql
var files embed.FS

// tables describes the database for package sqlschema.
func (s *Store) tables(o Options) *sqlschema.Database {
	return &sqlschema.Database{
		Scheme: "postgres", Where: s.where, DB: s.db, Naming: o.Naming, Names: s.names, Shares: o.Shares, Quote: quote, Files: files, KeyType: keyType,
		Inspect: catalog.Describe, InspectAll: catalog.DescribeAll, AllColumns: allColumns, Remedy: remedy, SchemaParameter: searchPath, PrefixIndex: byteText, NoSuchTable: is(noSuchTable), FoldText: true, Dialect: database.DialectPostgres, PingTimeout: sqlschema.PingTimeout,
		// The lock is a table: CockroachDB has no advisory locks, and a pooler may not
		// keep them.
		NewLock: lock.NewPostgresTableLocker,
		// Two processes that create the same table at once collide in the catalog.
		LostRace: is(uniqueViolation, duplicateTable, duplicateObject, serialization, deadlock),
	}
}

// Statements calls show with every statement that Migrate would execute to bring the
// schema up to date. It changes nothing.
func (s *Store) Statements(ctx context.Context, show func(m Migration, statement string)) error {
	return s.schema.Statements(ctx, show)
}

// Status reports which migrations have been applied. It writes nothing.
func (s *Store) Status(ctx context.Context) (Status, error) {
	status, err := s.schema.Status(ctx)
	return status, explained(s.where, err)
}

// Shared lists the tables that a NextAuth.js application may share, with their rows. It
// writes nothing.
func (s *Store) Shared(ctx context.Context) ([]SharedTable, error) { return s.schema.Shared(ctx) }

// Usable returns the error with which Migrate would refuse to bring the schema up to
// date, or nil. It writes nothing.
func (s *Store) Usable(ctx context.Context) error { return s.schema.Usable(ctx) }

// Migrate changes the schema. Any number of processes may call it at once: each
// migration is applied once, and every call returns when it is done. If a process was
// killed during a migration, the next one may wait up to 10 s. If an existing table
// cannot be used, Migrate returns an error and changes nothing.
//
// If existing tables lack indexes, Migrate creates them in the same transaction. Until
// it ends, writes to those tables block: some seconds per million rows. To avoid that,
// create the indexes first with CREATE INDEX CONCURRENTLY. Migrate recognises an index
// by its columns, except authsvc_user_address, an index over an expression, by its name.
func (s *Store) Migrate(ctx context.Context, d Direction) error {
	return explained(s.where, s.schema.Migrate(ctx, d))
}

// Ping implements [adapter.Adapter]. It fails if the server does not answer or its
// schema is older than this build needs.
func (s *Store) Ping(ctx context.Context) error { return explained(s.where, s.schema.Ping(ctx)) }

// Warnings lists problems in other programs' tables that do not stop authsvc from using
// them.
func (s *Store) Warnings(ctx context.Context) ([]string, error) { return s.schema.Warnings(ctx) }
