package sqlschema

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"authsvc/internal/sql/stores"
)

// A migration is one change of the schema. If the database supports it, the migration
// and its record run in one transaction. Every migration can be repeated, so that the
// next process finishes one that was killed.
type migration struct {
	version  int64
	name     string
	up, down func(*Database, context.Context, Querier) error
}

// migrations lists all changes of the schema, in order.
func migrations() []migration {
	return []migration{
		{1, "initial", (*Database).upInitial, (*Database).downInitial},
		{2, "permits and leases", (*Database).upLeases, (*Database).downLeases},
		{3, "audit events", (*Database).upAudit, (*Database).downAudit},
		{4, "epochs", (*Database).upEpochs, (*Database).downEpochs},
		{5, "session claims", (*Database).upClaims, (*Database).downClaims},
		{6, "people", (*Database).upPeople, (*Database).downPeople},
		{7, "proofs", (*Database).upProofs, (*Database).downProofs},
		{8, "search by address", (*Database).addIndexes, (*Database).downAddresses},
	}
}

// Latest returns the schema version that this build needs.
func Latest() int64 {
	all := migrations()
	return all[len(all)-1].version
}

// upInitial creates the tables. If the shared tables exist, it only adds the missing
// indexes to them.
func (d *Database) upInitial(ctx context.Context, q Querier) error {
	found, err := d.inspect(ctx, q)
	if err != nil {
		return err
	}
	for _, table := range tables() {
		if found[table] != nil {
			continue
		}
		if err := d.exec(ctx, q, strings.ToLower(table)+".sql"); err != nil {
			return err
		}
	}
	if err := d.addIndexes(ctx, q); err != nil {
		return err
	}
	return d.exec(ctx, q, "own.up.sql")
}

// downInitial removes only authsvc's own tables.
func (d *Database) downInitial(ctx context.Context, q Querier) error {
	return d.exec(ctx, q, "own.down.sql")
}

// upLeases adds the other data that replicas share: rate limits and leases.
func (d *Database) upLeases(ctx context.Context, q Querier) error {
	if err := d.exec(ctx, q, "leases.up.sql"); err != nil {
		return err
	}
	return d.addIndexes(ctx, q)
}

func (d *Database) downLeases(ctx context.Context, q Querier) error {
	return d.exec(ctx, q, "leases.down.sql")
}

// upAudit adds the events of Config.Audit.Store.
func (d *Database) upAudit(ctx context.Context, q Querier) error {
	return d.exec(ctx, q, "audit.up.sql")
}

func (d *Database) downAudit(ctx context.Context, q Querier) error {
	return d.exec(ctx, q, "audit.down.sql")
}

// upEpochs numbers the log of revocations. A database that cannot roll back a change of
// a table may have done that part already.
func (d *Database) upEpochs(ctx context.Context, q Querier) error {
	numbered, err := d.has(ctx, q, "authsvc_revocation", "seq")
	if err != nil {
		return err
	}
	if !numbered {
		if err := d.exec(ctx, q, "epochs.alter.sql"); err != nil {
			return err
		}
	}
	return d.exec(ctx, q, "epochs.up.sql")
}

func (d *Database) downEpochs(ctx context.Context, q Querier) error {
	return d.exec(ctx, q, "epochs.down.sql")
}

// upClaims adds the claims that stay with a session. Earlier versions can still use the
// schema.
func (d *Database) upClaims(ctx context.Context, q Querier) error {
	there, err := d.has(ctx, q, "authsvc_session", "claims")
	if err != nil || there {
		return err
	}
	return d.exec(ctx, q, "claims.up.sql")
}

func (d *Database) downClaims(ctx context.Context, q Querier) error {
	return d.exec(ctx, q, "claims.down.sql")
}

// A widening adds columns to a table with one file. column is the column whose presence
// shows that it is done.
type widening struct{ table, column, file string }

// peopleChanges belong to migration 6, proofChanges to migration 7.
var (
	peopleChanges = []widening{{"authsvc_audit", "actor", "people.audit"}, {"authsvc_session", "amr", "people.session"}}
	proofChanges  = []widening{{"authsvc_jwt_session", "proved_at", "proofs.jwt_session"}, {"authsvc_session", "proved_at", "proofs.session"}}
)

// upPeople adds persons and credentials, and the details of sessions in lists. Earlier
// versions can still use the schema. The busiest table is changed last, so that it is
// blocked as briefly as possible.
func (d *Database) upPeople(ctx context.Context, q Querier) error {
	if err := d.exec(ctx, q, "people.up.sql"); err != nil {
		return err
	}
	return d.widen(ctx, q, peopleChanges)
}

func (d *Database) downPeople(ctx context.Context, q Querier) error {
	if err := d.narrow(ctx, q, peopleChanges); err != nil {
		return err
	}
	return d.exec(ctx, q, "people.down.sql")
}

// upProofs adds the time at which the person of a session last authenticated. Earlier
// versions can still use the schema.
func (d *Database) upProofs(ctx context.Context, q Querier) error {
	return d.widen(ctx, q, proofChanges)
}

func (d *Database) downProofs(ctx context.Context, q Querier) error {
	return d.narrow(ctx, q, proofChanges)
}

func (d *Database) widen(ctx context.Context, q Querier, list []widening) error {
	for _, c := range list {
		there, err := d.has(ctx, q, c.table, c.column)
		if err == nil && !there {
			err = d.exec(ctx, q, c.file+".up.sql")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *Database) narrow(ctx context.Context, q Querier, list []widening) error {
	for _, c := range list {
		there, err := d.has(ctx, q, c.table, c.column)
		if err == nil && there {
			err = d.exec(ctx, q, c.file+".down.sql")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// has reports whether a table has a column. Both are physical names.
func (d *Database) has(ctx context.Context, q Querier, table, column string) (bool, error) {
	t, err := d.Inspect(ctx, q, table)
	if err != nil || t == nil {
		return false, err
	}
	return slices.ContainsFunc(t.Columns, func(c Column) bool { return d.sameName(c.Name, column) }), nil
}

// exec runs the statements of a file one by one.
func (d *Database) exec(ctx context.Context, q Querier, file string) error {
	text, err := fs.ReadFile(d.Files, "schema/"+file)
	if err != nil {
		return err
	}
	expanded, err := d.expand(ctx, q, string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, statement := range strings.SplitAfter(expanded, ";\n") {
		if strings.TrimSpace(statement) == "" {
			continue
		}
		if _, err := q.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// expand replaces the names in braces.
func (d *Database) expand(ctx context.Context, q Querier, text string) (string, error) {
	if strings.Contains(text, "{text}") {
		kind, err := d.KeyType(ctx, q)
		if err != nil {
			return "", err
		}
		text = strings.ReplaceAll(text, "{text}", kind)
	}
	text = strings.ReplaceAll(text, "{columns}", d.newColumns())
	for {
		before, rest, found := strings.Cut(text, "{type ")
		if !found {
			return d.Names.Expand(text, d.Quote)
		}
		logical, after, _ := strings.Cut(rest, "}")
		kind, err := d.typeOf(ctx, q, logical)
		if err != nil {
			return "", err
		}
		text = before + kind + after
	}
}

func (d *Database) typeOf(ctx context.Context, q Querier, logical string) (string, error) {
	table, _, _ := strings.Cut(logical, ".")
	t, err := d.Inspect(ctx, q, d.Names[table])
	if err != nil {
		return "", err
	}
	if t != nil {
		if c := d.column(t, logical); c != nil {
			return c.Type, nil
		}
	}
	return "", fmt.Errorf("there is no column %s", logical)
}

// Prepare refuses a database that this build cannot use, and migrates it if migrate is
// true. It returns the tables that exist afterwards.
func (d *Database) Prepare(ctx context.Context, migrate bool) (Tables, error) {
	version, err := d.Version(ctx)
	if err != nil {
		return nil, err
	}
	if version > Latest() {
		return nil, fmt.Errorf("%s: %s: %w", d.Scheme, d.Where, stores.TooNew(version, Latest()))
	}
	if migrate && version < Latest() {
		before, err := d.Tables(ctx)
		if err != nil {
			return nil, d.withScheme(err)
		}
		if err := d.Migrate(ctx, stores.Up); err != nil { // also verifies them
			return nil, err
		}
		d.created = missing(before)
	}
	found, err := d.Tables(ctx)
	if err == nil && version == Latest() {
		err = d.verify(found)
	}
	d.prepared = found
	return found, d.withScheme(err)
}

func (d *Database) withScheme(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", d.Scheme, err)
}

// Version returns the number of the last applied migration, or 0 without any. It writes
// nothing.
func (d *Database) Version(ctx context.Context) (int64, error) {
	var version int64
	err := d.DB.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM `+VersionTable).Scan(&version)
	if err != nil && !d.NoSuchTable(err) {
		return 0, fmt.Errorf("%s: read the schema version: %w", d.Scheme, err)
	}
	return version, nil
}

// Ping checks that the database answers and that its schema is not older than this
// build needs.
func (d *Database) Ping(ctx context.Context) error {
	if d.PingTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.PingTimeout)
		defer cancel()
	}
	version, err := d.Version(ctx)
	if err == nil && version < Latest() {
		err = stores.TooOld(version, Latest())
	}
	if err != nil {
		return fmt.Errorf("ping: %w", err)
	}
	return nil
}

// Status returns the migrations and whether each is applied. It writes nothing.
func (d *Database) Status(ctx context.Context) (stores.Status, error) {
	version, err := d.Version(ctx)
	if err != nil {
		return stores.Status{}, err
	}
	status := stores.Status{Current: version, Latest: Latest()}
	for _, m := range migrations() {
		status.Migrations = append(status.Migrations, stores.Migration{Version: m.version, Name: m.name, Applied: m.version <= version})
	}
	return status, nil
}

// Migrate changes the schema. Several processes may call it at once: each migration is
// applied once, and all calls return when it is done. Migrate refuses unusable tables
// before it changes anything.
func (d *Database) Migrate(ctx context.Context, to stores.Direction) error {
	version, err := d.Version(ctx)
	if err != nil {
		return err
	}
	if to == stores.Up && version < Latest() {
		if err := d.checkUsable(ctx, d.DB); err != nil {
			return d.withScheme(err)
		}
	}
	for range Latest() + 1 { // the loser's next try finds that migration done, and may lose the next one
		if err = d.migrate(ctx, to); err == nil || !d.LostRace(err) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%s: migrate: %w", d.Scheme, err)
	}
	return d.withScheme(d.verifyIfUp(ctx, to))
}

func (d *Database) verifyIfUp(ctx context.Context, to stores.Direction) error {
	if to != stores.Up {
		return nil
	}
	return d.Verify(ctx)
}

func (d *Database) migrate(ctx context.Context, to stores.Direction) error {
	p, err := d.provider()
	if err != nil {
		return err
	}
	if to == stores.Up {
		_, err = p.Up(ctx)
		return err
	}
	_, err = p.Down(ctx)
	if errors.Is(err, goose.ErrNoNextVersion) {
		return errors.New("there is no migration to roll back")
	}
	return err
}

func (d *Database) provider() (*goose.Provider, error) {
	in := func(f func(*Database, context.Context, Querier) error) *goose.GoFunc {
		return &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error { return f(d, ctx, tx) }}
	}
	var list []*goose.Migration
	for _, m := range migrations() {
		list = append(list, goose.NewGoMigration(m.version, in(m.up), in(m.down)))
	}
	versions, err := database.NewStore(d.Dialect, VersionTable)
	if err != nil {
		return nil, err
	}
	if d.Versions != nil {
		versions = d.Versions(versions)
	}
	options := []goose.ProviderOption{goose.WithStore(versions), goose.WithGoMigrations(list...),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger())}
	if d.NewLock != nil {
		lock, err := d.NewLock(lockOptions()...)
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithLocker(lock))
	}
	return goose.NewProvider(goose.DialectCustom, d.DB, nil, options...)
}

// lockOptions returns the options of goose's table locks. A process that was killed
// during a migration blocks the others for at most 10 s.
func lockOptions() []lock.TableLockerOption {
	return []lock.TableLockerOption{lock.WithTableName(LockTable), lock.WithTableLeaseDuration(10 * time.Second),
		lock.WithTableHeartbeatInterval(2 * time.Second), lock.WithTableLockTimeout(200*time.Millisecond, 600)}
}
