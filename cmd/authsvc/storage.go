package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/adapter/mongodb"
	"authsvc/adapter/mysql"
	"authsvc/adapter/postgres"
	"authsvc/adapter/redis"
	"authsvc/adapter/sqlite"
	"authsvc/cmd/authsvc/internal/config"
	tables "authsvc/internal/sql/stores"
)

// A store is an open adapter.
type store struct {
	adapter.Adapter // nil with storage none
	schema          schema
	close           func() error
	warnings        []string
}

// A schema manages the tables of a store.
type schema interface {
	Status(ctx context.Context) (tables.Status, error)
	// Shared lists the tables or collections that an application may share.
	Shared(ctx context.Context) ([]tables.SharedTable, error)
	// Usable returns why migrating would be refused.
	Usable(ctx context.Context) error
	Migrate(ctx context.Context, d tables.Direction) error
}

// A driver opens the stores of one scheme of storage.url.
type driver struct {
	name string // kind of store, for people; "" means the URL, which then contains no secret
	open func(ctx context.Context, s config.Storage) (*store, error)
	// checkURL returns the error that open would return for a URL. If nil, every URL is
	// valid.
	checkURL func(url string) error
	renames  bool // storage.naming, tables and columns apply
	// exists reports whether the store exists. If nil, opening never creates it.
	exists func(url string) (bool, error)
	// canCreate returns why opening could not create the store. It is set if exists is.
	canCreate func(url string) error
	// unreachable reports whether a later attempt may succeed. If nil, none may.
	unreachable func(error) bool
}

// drivers returns the drivers by scheme.
func drivers() map[string]driver {
	postgres := driver{name: "postgres", open: openPostgres, unreachable: postgres.Unreachable, checkURL: postgres.CheckURL, renames: true}
	mysql := driver{name: "mysql", open: openMySQL, unreachable: mysql.Unreachable, checkURL: mysql.CheckURL, renames: true}
	mongodb := driver{name: "mongodb", open: openMongoDB, unreachable: mongodb.Unreachable, checkURL: mongodb.CheckURL, renames: true}
	redis := driver{name: "redis", open: openRedis, unreachable: redis.Unreachable, checkURL: redis.CheckURL}
	return map[string]driver{
		"postgres": postgres, "postgresql": postgres,
		"mysql": mysql, "mariadb": mysql,
		"mongodb": mongodb, "mongodb+srv": mongodb,
		"redis": redis, "rediss": redis, "unix": redis,
		"sqlite": {open: openSQLite, exists: sqliteExists, canCreate: sqlite.CheckNew, renames: true},
		"memory": {name: "memory", open: openMemory},
		"none":   {name: "none", open: openNone},
	}
}

func storageScheme(s *config.Settings) string {
	scheme, _, _ := strings.Cut(s.Storage.URL, ":")
	return scheme
}

// checkStorage finds the mistakes in the settings of stores that can be found without
// opening them.
func checkStorage(s *config.Settings) error {
	d, ok := drivers()[storageScheme(s)]
	if !ok {
		fix := "use sqlite:FILE, postgres://…, mysql://…, mongodb://…, redis://…, memory: or none"
		if near := config.Closest(storageScheme(s), slices.Sorted(maps.Keys(drivers()))); near != "" {
			fix = "did you mean " + near + "? Otherwise " + fix
		}
		return config.Mistakes{s.Mistake("storage.url", "does not begin with a known scheme", fix)}
	}
	var found config.Mistakes
	if d.checkURL != nil {
		if err := d.checkURL(s.Storage.URL); err != nil {
			found = append(found, unusable(s, "storage.url", err))
		}
	}
	if s.Storage.Sessions != "" {
		if err := redis.CheckURL(s.Storage.Sessions); err != nil {
			found = append(found, unusable(s, "session.store", err))
		}
	}
	switch {
	case d.renames:
		found = append(found, checkNames(s)...)
	case len(s.Storage.Naming.UserColumns) > 0:
		found = append(found, s.Mistake("storage.user_columns", "names columns of the application's own user table, but "+describeStorage(s)+" has none",
			"leave it out, or use a SQL database or MongoDB"))
	}
	if len(found) == 0 {
		return nil
	}
	return found
}

// checkNames finds renames of tables and columns that do not exist, and names that no
// database accepts.
func checkNames(s *config.Settings) config.Mistakes {
	all := naming(s.Storage)
	for _, part := range []struct {
		key, fix string
		names    sqlite.Naming
	}{
		{"storage.tables", "name a table after one of the preset prisma, as in {User: users}", sqlite.Naming{Preset: all.Preset, Tables: all.Tables}},
		{"storage.columns", "name a column after one of the preset prisma, as in {User.emailVerified: verified_at}", sqlite.Naming{Preset: all.Preset, Tables: all.Tables, Columns: all.Columns}},
		{"storage.user_columns", "write the application's columns as the database names them, as in [role]", all},
	} {
		if _, err := part.names.Resolve(); err != nil {
			return config.Mistakes{s.Mistake(part.key, "cannot be used: "+strings.TrimPrefix(oneLine(err), "naming: "), part.fix)}
		}
	}
	return nil
}

// openStore opens the store. If migrate is set, it brings the schema up to date.
func openStore(ctx context.Context, s *config.Settings, migrate bool) (*store, error) {
	c := s.Storage
	c.Migrate, c.PlainTokens = migrate, !sameCompat(s.Engine.Compat, authsvc.CompatNone)
	d := drivers()[storageScheme(s)]
	st, err := d.open(ctx, c)
	if err != nil {
		mistakes := tableMistakes(s, err)
		if len(mistakes) == 0 {
			mistakes = config.Mistakes{unusable(s, "storage.url", err)}
		}
		return nil, openError{mistakes, d.unreachable != nil && d.unreachable(err)}
	}
	if c.Sessions == "" {
		return st, nil
	}
	combined, err := st.withRedis(ctx, c)
	if err != nil {
		return nil, errors.Join(openError{config.Mistakes{unusable(s, "session.store", err)},
			redis.Unreachable(err)}, st.close())
	}
	if c.PlainTokens && s.Engine.Session.Strategy != "jwt" {
		combined.warnings = append(combined.warnings, "with session.store, the sessions that NextAuth keeps in "+describeStorage(s)+
			" are not used, and NextAuth does not see the sessions of authsvc: signed-in users must sign in again; leave session.store out to share sessions")
	}
	return combined, nil
}

// unusable returns the mistake for a store that cannot be opened. The adapters know the
// cause, and their errors say what to do about it.
func unusable(s *config.Settings, key string, err error) config.Mistake {
	fix := ""
	if errors.Is(err, sqlite.ErrDamaged) {
		fix = "put a backup of the database in its place, or move it away to start with an empty one"
	}
	return s.Mistake(key, "cannot be used: "+oneLine(err), fix)
}

// tableMistakes returns the mistakes if err is about tables that exist.
func tableMistakes(s *config.Settings, err error) (list config.Mistakes) {
	var missed *tables.MissedError
	if errors.As(err, &missed) {
		list = append(list, s.Mistake(missed.Key, missed.Problem, missed.Fix))
	}
	var unusable *tables.UnusableError
	if errors.As(err, &unusable) {
		list = append(list, s.Mistake("storage.url", "names a database whose tables cannot be used: "+oneLine(unusable.Err), "nothing was changed"))
	}
	var columns *tables.ColumnsError
	if errors.As(err, &columns) {
		list = append(list, s.Mistake("storage.user_columns", columns.Problem, columns.Fix()))
	}
	return list
}

// explainTables adds the key of the configuration to an error about existing tables.
func explainTables(s *config.Settings, err error) error {
	if list := tableMistakes(s, err); len(list) > 0 {
		return list
	}
	return err
}

// withRedis adds a Redis for short-lived records.
func (st *store) withRedis(ctx context.Context, s config.Storage) (*store, error) {
	r, err := redis.Open(ctx, s.Sessions, redis.Options{Prefix: s.Prefix})
	if err != nil {
		return nil, err
	}
	return &store{Adapter: redis.Beside(st.Adapter, r), schema: st.schema, warnings: slices.Concat(st.warnings, r.Warnings()),
		close: func() error { return errors.Join(r.Close(), st.close()) }}, nil
}

// An openError reports why a store was not opened.
type openError struct {
	config.Mistakes
	retryable bool // a later attempt may succeed
}

func (n openError) Unwrap() error { return n.Mistakes }

// isRetryable reports whether openStore may succeed later, after this error.
func isRetryable(err error) bool {
	var n openError
	return errors.As(err, &n) && n.retryable
}

// Delays between attempts to reach the store, and between the log lines about them.
const (
	minRetryDelay    = 250 * time.Millisecond
	maxRetryDelay    = 5 * time.Second
	retryLogInterval = 30 * time.Second
)

// openStoreWithRetry opens the store. If the store cannot be reached yet, it calls
// onRetry and tries again until ctx is done. If the store will not work as configured,
// it returns the error at once.
func openStoreWithRetry(ctx context.Context, s *config.Settings, log *slog.Logger, onRetry func()) (*store, error) {
	var logged time.Time
	cause := ""
	for delay := minRetryDelay; ; delay = min(2*delay, maxRetryDelay) {
		st, err := openStore(ctx, s, s.Storage.Migrate)
		if err == nil || !isRetryable(err) {
			return st, err
		}
		onRetry()
		if now := oneLine(err); now != cause || time.Since(logged) > retryLogInterval { // a new cause is logged at once
			logged, cause = time.Now(), now
			log.Error("cannot reach the store; retrying, and not ready until the store answers", "storage", describeStorage(s), "err", cause)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(delay):
		}
	}
}

func naming(s config.Storage) sqlite.Naming {
	return sqlite.Naming{Preset: s.Naming.Preset, Tables: s.Naming.Tables, Columns: s.Naming.Columns, UserColumns: s.Naming.UserColumns}
}

// shares reports whether the tables of an application are expected, as in the compat
// modes.
func shares(s config.Storage) bool { return s.PlainTokens && !s.NewTables }

func openSQLite(ctx context.Context, s config.Storage) (*store, error) {
	db, err := sqlite.Open(ctx, s.URL, sqlite.Options{Migrate: s.Migrate, Naming: naming(s), Private: s.PlainTokens, Shares: shares(s)})
	if err != nil {
		return nil, err
	}
	return loadWarnings(ctx, &store{Adapter: db, schema: db, close: db.Close}, db.Warnings)
}

func sqlitePath(url string) string {
	return strings.TrimPrefix(strings.TrimPrefix(url, "sqlite:"), "//")
}

func sqliteExists(url string) (bool, error) {
	_, err := os.Stat(sqlitePath(url))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func openPostgres(ctx context.Context, s config.Storage) (*store, error) {
	db, err := postgres.Open(ctx, s.URL, postgres.Options{Migrate: s.Migrate, Naming: naming(s), Shares: shares(s)})
	if err != nil {
		return nil, err
	}
	return loadWarnings(ctx, &store{Adapter: db, schema: db, close: db.Close}, db.Warnings)
}

func openMySQL(ctx context.Context, s config.Storage) (*store, error) {
	db, err := mysql.Open(ctx, s.URL, mysql.Options{Migrate: s.Migrate, Naming: naming(s), Shares: shares(s)})
	if err != nil {
		return nil, err
	}
	return loadWarnings(ctx, &store{Adapter: db, schema: db, close: db.Close}, db.Warnings)
}

func openMongoDB(ctx context.Context, s config.Storage) (*store, error) {
	db, err := mongodb.Open(ctx, s.URL, mongodb.Options{Migrate: s.Migrate, Naming: naming(s), Shares: shares(s)})
	if err != nil {
		return nil, err
	}
	return &store{Adapter: db, schema: db, close: db.Close}, nil
}

func openRedis(ctx context.Context, s config.Storage) (*store, error) {
	db, err := redis.Open(ctx, s.URL, redis.Options{Prefix: s.Prefix})
	if err != nil {
		return nil, err
	}
	return &store{Adapter: db, close: db.Close, warnings: db.Warnings()}, nil
}

// loadWarnings sets the warnings about tables that another program created.
func loadWarnings(ctx context.Context, st *store, ask func(context.Context) ([]string, error)) (*store, error) {
	var err error
	if st.warnings, err = ask(ctx); err != nil {
		return nil, errors.Join(err, st.close())
	}
	return st, nil
}

func openMemory(context.Context, config.Storage) (*store, error) {
	return &store{Adapter: memory.New(), close: func() error { return nil }}, nil
}

func openNone(context.Context, config.Storage) (*store, error) {
	return &store{close: func() error { return nil }}, nil
}

// describeStorage returns a name of the store without a password.
func describeStorage(s *config.Settings) string {
	return cmp.Or(drivers()[storageScheme(s)].name, s.Storage.URL)
}
