package main

import (
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
}

// schema is what a store with tables can do about them.
type schema interface {
	Status(ctx context.Context) (tables.Status, error)
	Migrate(ctx context.Context, d tables.Direction) error
}

// A driver opens the stores of one scheme of storage.url.
type driver struct {
	open func(ctx context.Context, s config.Storage) (*store, error)
	// exists reports whether opening would create the store; nil: it never does.
	exists  func(url string) (bool, error)
	refused string // why there is none
}

// drivers is the table of schemes.
func drivers() map[string]driver {
	const notHere = "is not in this version"
	return map[string]driver{
		"sqlite":     {open: openSQLite, exists: sqliteExists},
		"memory":     {open: openMemory},
		"none":       {open: openNothing},
		"postgres":   {refused: notHere},
		"postgresql": {refused: notHere},
		"mysql":      {refused: notHere},
		"mongodb":    {refused: notHere},
		"redis":      {refused: notHere},
	}
}

func storageScheme(s *config.Settings) string {
	scheme, _, _ := strings.Cut(s.Storage.URL, ":")
	return scheme
}

// findStore makes sure that there is a driver.
func findStore(s *config.Settings) error {
	const mend = "use sqlite:FILE, memory: or none"
	scheme := storageScheme(s)
	d, ok := drivers()[scheme]
	switch {
	case !ok:
		return config.Mistakes{s.Mistake("storage.url", "does not begin with a known scheme", mend)}
	case d.refused != "":
		return config.Mistakes{s.Mistake("storage.url", "names "+scheme+", which "+d.refused, mend)}
	}
	return nil
}

// openStore opens the store; migrate brings its schema up to date.
func openStore(ctx context.Context, s *config.Settings, migrate bool) (*store, error) {
	c := s.Storage
	c.Migrate = migrate
	st, err := drivers()[storageScheme(s)].open(ctx, c)
	if err != nil {
		return nil, config.Mistakes{s.Mistake("storage.url", "cannot be used: "+oneLine(err),
			"name a file in a folder that exists and that this user may write to; what is there is left as it is")}
	}
	return st, nil
}

func openSQLite(ctx context.Context, s config.Storage) (*store, error) {
	db, err := sqlite.Open(ctx, s.URL, sqlite.Options{Migrate: s.Migrate,
		Naming: sqlite.Naming{Preset: s.Naming.Preset, Tables: s.Naming.Tables, Columns: s.Naming.Columns}})
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
	if storageScheme(s) == "sqlite" {
		return s.Storage.URL
	}
	return strings.TrimSuffix(storageScheme(s), ":")
}
