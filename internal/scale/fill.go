package scale

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter/sqlite"
	"authsvc/internal/sqladapter"
)

// A Store is an adapter that can be closed.
type Store interface {
	authsvc.Adapter
	Close() error
}

// Open opens a store by its storage.url, with the default names, and migrates
// it.
func Open(ctx context.Context, storage string) (Store, error) {
	switch scheme(storage) {
	case "sqlite":
		return sqlite.Open(ctx, storage, sqlite.Options{Migrate: true})
	}
	return nil, errScheme
}

var errScheme = errors.New("the storage URL begins with no scheme of a store that can be filled: use sqlite:FILE")

// errNotEmpty: rows that are there are not ours to mix with.
var errNotEmpty = errors.New("the store is not empty: name one that is, or remove it first")

func scheme(storage string) string {
	s, _, _ := strings.Cut(storage, ":")
	return s
}

// Fill fills an empty store, whose tables it makes. Nothing is resumed: what
// it did is undone when it fails, or, where the database cannot do that, the
// error says what to remove. Progress gets a line now and then.
func Fill(ctx context.Context, storage string, p Population, progress func(line string)) error {
	if p.Users < 1 || p.Accounts < 0 || p.Sessions < 0 || p.Ended < 0 || p.Users >= stride {
		return errors.New("a population has at least one user, and no number of it is negative")
	}
	s, err := Open(ctx, storage)
	if err != nil {
		return err
	}
	list, err := s.ListUsers(ctx, "", 1)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	if len(list) > 0 {
		return errNotEmpty
	}
	switch scheme(storage) {
	case "sqlite":
		return fillSQLite(ctx, storage, p, progress)
	}
	return errScheme
}

// fillTables hands each table to load, which calls tick with the rows done so
// far.
func fillTables(p Population, encode func(time.Time) any, quote func(string) string, progress func(string), load func(t table, tick func(int)) error) error {
	names, err := sqladapter.Naming{}.Resolve()
	if err != nil {
		return err
	}
	for _, t := range p.tables(encode) {
		if t, err = t.named(names, quote); err != nil {
			return err
		}
		if t.rows == 0 {
			continue
		}
		if err := load(t, meter(t, progress)); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// meter tells of a table every 5 s and when it is done.
func meter(t table, progress func(string)) func(done int) {
	start := time.Now()
	last := start
	return func(done int) {
		if done < t.rows && time.Since(last) < 5*time.Second {
			return
		}
		last = time.Now()
		took := last.Sub(start)
		progress(fmt.Sprintf("%-20s %9d of %d rows, %.1f s, %.0f rows/s", t.name, done, t.rows, took.Seconds(), float64(done)/took.Seconds()))
	}
}

// quoted quotes a name by the SQL standard.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
