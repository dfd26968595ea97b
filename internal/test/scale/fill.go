package scale

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"authsvc/adapter"
	"authsvc/adapter/postgres"
	"authsvc/adapter/sqlite"
)

// A Store is an adapter that can be closed.
type Store interface {
	adapter.Adapter
	Close() error
}

// Open opens and migrates the store with a storage.url, with the default names.
func Open(ctx context.Context, storage string) (Store, error) {
	switch scheme(storage) {
	case "sqlite":
		return sqlite.Open(ctx, storage, sqlite.Options{Migrate: true})
	case "postgres":
		return postgres.Open(ctx, storage, postgres.Options{Migrate: true})
	}
	return nil, errScheme
}

var (
	errScheme = errors.New("the storage URL is of no store that can be filled: use sqlite:FILE or postgres://…")
	errURL    = errors.New("the storage URL cannot be read")
)

// errNotEmpty refuses a store with rows, which must not mix with the generated ones.
var errNotEmpty = errors.New("the store is not empty: name one that is, or remove it first")

func scheme(storage string) string {
	s, _, _ := strings.Cut(storage, ":")
	return s
}

// Fill creates the tables of an empty store and fills them. It cannot resume: if it
// fails, it undoes its work. If the database cannot undo it, the error tells you what
// to remove. progress gets a line from time to time.
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
	case "postgres":
		return fillPostgres(ctx, storage, p, progress)
	}
	return errScheme
}

// meter returns a function that reports the progress of a table every 5 s and when it
// is done.
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

// quoted quotes a name as the SQL standard requires.
func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// timed runs f and reports a statement that takes long.
func timed(statement string, progress func(string), f func() error) error {
	start := time.Now()
	err := f()
	if took := time.Since(start); took > time.Second {
		words := strings.Fields(statement)
		progress(fmt.Sprintf("%s: %.1f s", strings.Join(words[:min(6, len(words))], " "), took.Seconds()))
	}
	return err
}
