package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"

	"authsvc/internal/sqladapter"
)

// versionTable is where goose notes which migrations were applied.
const versionTable = "authsvc_goose"

// A Direction is where Migrate goes.
type Direction int

// Up applies all pending migrations. Down takes back the last one, with the
// data in authsvc's own tables; users, accounts, sessions and verification
// tokens stay.
const (
	Up Direction = iota
	Down
)

// A Migration is one change of the schema.
type Migration struct {
	Version int64
	Name    string
	Applied bool
}

// A Status tells how far the schema is.
type Status struct {
	Current, Latest int64
	Migrations      []Migration // ordered by version
}

// migrations lists every change of the schema, in order. Each runs in one
// transaction with the note that it ran.
func migrations() []migration {
	return []migration{
		{1, "initial", upInitial, downInitial},
		{2, "permits and leases", upLeases, downLeases},
	}
}

type migration struct {
	version  int64
	name     string
	up, down func(context.Context, *sql.Tx, sqladapter.Names) error
}

func latest() int64 {
	all := migrations()
	return all[len(all)-1].version
}

// settle refuses what this build cannot use, and migrates when told to.
func (s *Store) settle(ctx context.Context, migrate bool) error {
	version, err := s.version(ctx)
	if err != nil {
		return err
	}
	if version > latest() {
		return fmt.Errorf("sqlite: %s has schema version %d, this build knows up to %d: use a newer build", s.path, version, latest())
	}
	if migrate && version < latest() {
		return s.Migrate(ctx, Up)
	}
	if version < latest() {
		return nil
	}
	return verify(ctx, s.writer, s.names)
}

// version is the number of the last applied migration, 0 without any. It
// writes nothing.
func (s *Store) version(ctx context.Context) (int64, error) {
	var found int
	var version int64
	err := s.reader.QueryRowContext(ctx, `SELECT COUNT(*) FROM sqlite_schema WHERE type = 'table' AND name = ?`, versionTable).Scan(&found)
	if err == nil && found > 0 {
		err = s.reader.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM `+versionTable).Scan(&version)
	}
	if err != nil {
		return 0, fmt.Errorf("sqlite: read the schema version: %w", err)
	}
	return version, nil
}

// Status tells which migrations were applied. It writes nothing.
func (s *Store) Status(ctx context.Context) (Status, error) {
	version, err := s.version(ctx)
	if err != nil {
		return Status{}, err
	}
	status := Status{Current: version, Latest: latest()}
	for _, m := range migrations() {
		status.Migrations = append(status.Migrations, Migration{m.version, m.name, m.version <= version})
	}
	return status, nil
}

// Migrate changes the schema. Any number of processes may do so at once: each
// migration is applied once, and all return when it is.
func (s *Store) Migrate(ctx context.Context, d Direction) error {
	var err error
	for range 3 { // whoever loses the race finds it done the next time
		if err = s.migrate(ctx, d); err == nil || !dialect().Unique(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("sqlite: migrate: %w", err)
	}
	return nil
}

func (s *Store) migrate(ctx context.Context, d Direction) error {
	p, err := s.provider()
	if err != nil {
		return err
	}
	if d == Up {
		_, err = p.Up(ctx)
		return err
	}
	_, err = p.Down(ctx)
	if errors.Is(err, goose.ErrNoNextVersion) {
		return errors.New("there is nothing to take back")
	}
	return err
}

func (s *Store) provider() (*goose.Provider, error) {
	in := func(f func(context.Context, *sql.Tx, sqladapter.Names) error) *goose.GoFunc {
		return &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error { return f(ctx, tx, s.names) }}
	}
	var list []*goose.Migration
	for _, m := range migrations() {
		list = append(list, goose.NewGoMigration(m.version, in(m.up), in(m.down)))
	}
	base, err := database.NewStore(database.DialectSQLite3, versionTable)
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(goose.DialectCustom, s.writer, nil, goose.WithStore(versions{base}),
		goose.WithGoMigrations(list...), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
}

// versions makes the version table refuse a version twice. SQLite has no lock
// that goose could hold, so two processes may try the same migration, one
// after the other; the second one then fails and is rolled back.
type versions struct{ database.Store }

// CreateVersionTable implements [database.Store].
func (versions) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	_, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+versionTable+` (
		id INTEGER PRIMARY KEY,
		version_id INTEGER NOT NULL UNIQUE,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	)`)
	return err
}

// Insert implements [database.Store]. Version 0 stands for the table itself.
func (v versions) Insert(ctx context.Context, db database.DBTxConn, r database.InsertRequest) error {
	if r.Version != 0 {
		return v.Store.Insert(ctx, db, r)
	}
	_, err := db.ExecContext(ctx, `INSERT OR IGNORE INTO `+versionTable+` (version_id, is_applied) VALUES (0, 1)`)
	return err
}
