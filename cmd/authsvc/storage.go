package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/adapter/sqlite"
	"authsvc/cmd/authsvc/internal/config"
	tables "authsvc/internal/schema"
)

// A store is an adapter that the program opened.
type store struct {
	authsvc.Adapter // nil with storage none
	schema          schema
	close           func() error
	warnings        []string
}

// schema is what a store with tables can do about them.
type schema interface {
	Status(ctx context.Context) (tables.Status, error)
	Migrate(ctx context.Context, d tables.Direction) error
}

// A driver opens the stores of one scheme of storage.url.
type driver struct {
	name string // of the kind of store, for people; "" means the URL, which is no secret
	open func(ctx context.Context, s config.Storage) (*store, error)
	mend string // when it cannot be opened
	// exists reports whether opening would create the store; nil: it never does.
	exists func(url string) (bool, error)
	// unreachable reports that an error may pass by itself; nil: it never does.
	unreachable func(error) bool
}

// drivers is the table of schemes.
func drivers() map[string]driver {
	return map[string]driver{
		"sqlite": {open: openSQLite, exists: sqliteExists,
			mend: "name a file in a folder that exists and that this user may write to; what is there is left as it is"},
		"memory": {name: "memory", open: openMemory},
		"none":   {name: "none", open: openNothing},
	}
}

func storageScheme(s *config.Settings) string {
	scheme, _, _ := strings.Cut(s.Storage.URL, ":")
	return scheme
}

// findStore makes sure that there are drivers.
func findStore(s *config.Settings) error {
	if _, ok := drivers()[storageScheme(s)]; !ok {
		return config.Mistakes{s.Mistake("storage.url", "does not begin with a known scheme", "use sqlite:FILE, memory: or none")}
	}
	return nil
}

// openStore opens the store; migrate brings its schema up to date.
func openStore(ctx context.Context, s *config.Settings, migrate bool) (*store, error) {
	c := s.Storage
	c.Migrate = migrate
	d := drivers()[storageScheme(s)]
	st, err := d.open(ctx, c)
	if err != nil {
		return nil, notOpened{config.Mistakes{s.Mistake("storage.url", "cannot be used: "+oneLine(err), d.mend)}, err}
	}
	return st, nil
}

// notOpened is a mistake that remembers its cause.
type notOpened struct {
	config.Mistakes
	cause error
}

func (n notOpened) Unwrap() []error { return []error{n.Mistakes, n.cause} }

// waits reports whether an error of openStore may pass by itself.
func waits(s *config.Settings, err error) bool {
	d := drivers()[storageScheme(s)]
	return d.unreachable != nil && d.unreachable(err)
}

func naming(s config.Storage) sqlite.Naming {
	return sqlite.Naming{Preset: s.Naming.Preset, Tables: s.Naming.Tables, Columns: s.Naming.Columns}
}

func openSQLite(ctx context.Context, s config.Storage) (*store, error) {
	db, err := sqlite.Open(ctx, s.URL, sqlite.Options{Migrate: s.Migrate, Naming: naming(s)})
	if err != nil {
		return nil, err
	}
	return &store{Adapter: db, schema: db, close: db.Close}, nil
}

func sqliteExists(url string) (bool, error) {
	path := strings.TrimPrefix(strings.TrimPrefix(url, "sqlite:"), "//")
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func openMemory(context.Context, config.Storage) (*store, error) {
	return &store{Adapter: memory.New(), close: func() error { return nil }}, nil
}

func openNothing(context.Context, config.Storage) (*store, error) {
	return &store{close: func() error { return nil }}, nil
}

// describeStorage names the store without a password.
func describeStorage(s *config.Settings) string {
	return cmp.Or(drivers()[storageScheme(s)].name, s.Storage.URL)
}
