package postgres

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

// files are the statements of the schema, with logical names in braces.
//
//go:embed schema/*.sql
var files embed.FS

// tables describes the database for the package that keeps its tables.
func (s *Store) tables() *sqlschema.Database {
	return &sqlschema.Database{
		Scheme: "postgres", Where: s.where, DB: s.db, Names: s.names, Quote: quote, Files: files, KeyType: keyType,
		Inspect: catalog.Describe, InspectAll: catalog.DescribeAll, NoSuchTable: is(noSuchTable), FoldText: true, Dialect: database.DialectPostgres, PingTimeout: sqlschema.PingTimeout,
		// A table and not an advisory lock, which CockroachDB does not have and
		// a pooler may not keep.
		NewLock: lock.NewPostgresTableLocker,
		// Two that make the same table at once collide in the catalog.
		LostRace: is(uniqueViolation, duplicateTable, duplicateObject, serialization, deadlock),
	}
}

// Statements calls show with every statement that Migrate would execute to bring
// the schema up to date, and changes nothing.
func (s *Store) Statements(ctx context.Context, show func(m Migration, statement string)) error {
	return s.schema.Statements(ctx, show)
}

// Status reports which migrations were applied. It writes nothing.
func (s *Store) Status(ctx context.Context) (Status, error) { return s.schema.Status(ctx) }

// Migrate changes the schema. Any number of processes may do so at once: each
// migration is applied once, and all return when it is; after one that was
// killed the next waits for up to 10 s. Tables that are there and cannot be
// used are refused before anything is changed.
//
// Indexes that are missing on tables that are there are made in the same
// transaction as the rest, and until it ends nothing can be written to those
// tables: some seconds per million rows. Where that is too long, make them
// before with CREATE INDEX CONCURRENTLY; an index over the same columns is
// found whatever it is called.
func (s *Store) Migrate(ctx context.Context, d Direction) error { return s.schema.Migrate(ctx, d) }

// Ping implements [authsvc.Adapter]: the server answers and its schema is not
// older than this build needs.
func (s *Store) Ping(ctx context.Context) error { return s.schema.Ping(ctx) }

// Warnings returns what works, but not well, in tables of other programs.
func (s *Store) Warnings(ctx context.Context) ([]string, error) { return s.schema.Warnings(ctx) }
