package scale

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// perInsert is the number of rows that one statement inserts, perRun the number of
// rows sorted together.
const (
	perInsert = 100
	perRun    = 250_000
)

// loadPragmas trade safety for speed while the file has no value yet: no journal, no
// waiting for the disk, and a cache, in KiB, that holds most of the indexes.
// Defensive mode stays off because it forbids turning off the journal.
var loadPragmas = []string{"journal_mode(OFF)", "synchronous(OFF)", "foreign_keys(OFF)", "locking_mode(EXCLUSIVE)",
	"cache_size(-3000000)", "temp_store(MEMORY)"}

// fillSQLite fills a file in one transaction without a journal.
func fillSQLite(ctx context.Context, storage string, p Population, progress func(string)) (err error) {
	path, err := filepath.Abs(strings.TrimPrefix(strings.TrimPrefix(storage, "sqlite:"), "//"))
	if err != nil {
		return err
	}
	dsn := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: url.Values{"_pragma": loadPragmas}.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	defer func() {
		if err = errors.Join(err, db.Close()); err != nil {
			err = fmt.Errorf("%w; %s is of no use now: remove it", err, path)
		}
	}()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() // no effect after a commit
	l := sqliteLoader{tx}
	if err := l.fill(ctx, p, progress); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	progress("write the file to the disk")
	return syncSQLite(ctx, db)
}

type sqliteLoader struct{ tx *sql.Tx }

// fill drops the indexes that are not part of a table's definition. Building them
// from existing rows is faster.
func (l sqliteLoader) fill(ctx context.Context, p Population, progress func(string)) error {
	made, err := l.dropIndexes(ctx)
	if err != nil {
		return err
	}
	encode := func(t time.Time) any { return t.UnixMilli() }
	tables, err := p.tables(encode, quoted)
	if err != nil {
		return err
	}
	for _, t := range tables {
		if err := l.insert(ctx, t, meter(t, progress)); err != nil {
			return err
		}
	}
	// cache_size also limits how much is sorted at once; smaller runs stay in the
	// processor's caches.
	if _, err := l.tx.ExecContext(ctx, `PRAGMA cache_size = -64000`); err != nil {
		return err
	}
	for _, statement := range made {
		err := timed(statement, progress, func() error {
			_, err := l.tx.ExecContext(ctx, statement)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropIndexes drops indexes and returns the statements that create them again.
func (l sqliteLoader) dropIndexes(ctx context.Context) (made []string, err error) {
	names := []string{}
	rows, err := l.tx.QueryContext(ctx, `SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name, statement string
		if err := rows.Scan(&name, &statement); err != nil {
			return nil, err
		}
		names, made = append(names, name), append(made, statement)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, err := l.tx.ExecContext(ctx, `DROP INDEX `+quoted(name)); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (l sqliteLoader) insert(ctx context.Context, t table, tick func(int)) error {
	insert, err := l.tx.PrepareContext(ctx, insertRows(t, perInsert))
	if err != nil {
		return err
	}
	defer insert.Close()
	for done := 0; done < t.rows; {
		run := t.run(done, min(perRun, t.rows-done))
		for rows := range slices.Chunk(run, perInsert) {
			args := slices.Concat(rows...)
			if len(rows) == perInsert {
				_, err = insert.ExecContext(ctx, args...)
			} else {
				_, err = l.tx.ExecContext(ctx, insertRows(t, len(rows)), args...)
			}
			if err != nil {
				return err
			}
			done += len(rows)
			tick(done)
		}
	}
	return nil
}

// run makes n rows in the order of the random column. Extending an index in its order
// is faster than inserting at random.
func (t table) run(first, n int) [][]any {
	rows := make([][]any, n)
	for i := range rows {
		rows[i] = t.row(first + i)
	}
	if t.random > 0 {
		slices.SortFunc(rows, func(a, b []any) int { return strings.Compare(a[t.random-1].(string), b[t.random-1].(string)) })
	}
	return rows
}

func insertRows(t table, n int) string {
	row := "(" + strings.TrimSuffix(strings.Repeat("?, ", strings.Count(t.columns, ", ")+1), ", ") + ")"
	return `INSERT INTO ` + t.name + ` (` + t.columns + `) VALUES ` + strings.TrimSuffix(strings.Repeat(row+", ", n), ", ")
}

// syncSQLite writes the file to the disk with a transaction that waits for it, and
// turns the WAL on again.
func syncSQLite(ctx context.Context, db *sql.DB) error {
	for _, statement := range []string{`PRAGMA synchronous = FULL`, `PRAGMA journal_mode = DELETE`,
		`PRAGMA user_version = 1`, `PRAGMA user_version = 0`, `PRAGMA journal_mode = WAL`} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
