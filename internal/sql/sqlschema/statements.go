package sqlschema

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3/database"

	"authsvc/internal/sql/stores"
	"authsvc/internal/text"
)

// Statements calls show with every statement that Migrate would execute to bring the
// schema up to date. It changes nothing: it executes the statements in a transaction
// that it rolls back or, if the database would commit them, not at all.
func (d *Database) Statements(ctx context.Context, show func(m stores.Migration, statement string)) error {
	version, err := d.Version(ctx)
	if err != nil || version >= Latest() {
		return err
	}
	if err := d.checkUsable(ctx, d.DB); err != nil {
		return d.withScheme(err)
	}
	noted, err := d.Inspect(ctx, d.DB, VersionTable)
	if err != nil {
		return d.withScheme(err)
	}
	try := func(q Querier, run bool) error {
		r := &rehearsal{Querier: q, run: run, made: map[string]*Table{}}
		trial := *d
		if !run {
			trial.Inspect, trial.InspectAll = r.inspect(d), nil
		}
		return trial.rehearse(ctx, r, version, noted != nil, show)
	}
	if d.Commits {
		return d.withScheme(try(d.DB, false))
	}
	tx, err := d.DB.BeginTx(ctx, nil)
	if err != nil {
		return d.withScheme(err)
	}
	return d.withScheme(errors.Join(try(tx, true), tx.Rollback()))
}

// rehearse runs the migrations after version.
func (d *Database) rehearse(ctx context.Context, r *rehearsal, version int64, noted bool, show func(stores.Migration, string)) error {
	versions, err := database.NewStore(d.Dialect, VersionTable)
	if err != nil {
		return err
	}
	if d.Versions != nil {
		versions = d.Versions(versions)
	}
	for _, m := range migrations() {
		if m.version <= version {
			continue
		}
		r.show = func(statement string) { show(stores.Migration{Version: m.version, Name: m.name}, statement) }
		if !noted {
			noted = true
			if err := errors.Join(versions.CreateVersionTable(ctx, r), versions.Insert(ctx, r, database.InsertRequest{Version: 0})); err != nil {
				return err
			}
		}
		if err := m.up(d, ctx, r); err != nil {
			return err
		}
		if err := versions.Insert(ctx, r, database.InsertRequest{Version: m.version}); err != nil {
			return err
		}
	}
	return nil
}

// A rehearsal shows statements, and executes them only if run is set. Otherwise it
// keeps the tables that they would create.
type rehearsal struct {
	Querier
	run  bool
	show func(statement string)
	made map[string]*Table
}

// ExecContext implements [Querier].
func (r *rehearsal) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	r.show(strings.TrimSuffix(strings.TrimSpace(withArguments(query, args)), ";") + ";")
	if r.run {
		return r.Querier.ExecContext(ctx, query, args...)
	}
	if name, t := madeBy(query); t != nil && r.made[name] == nil {
		r.made[name] = t
	}
	return driver.RowsAffected(0), nil
}

// inspect finds tables that exist or would be created.
func (r *rehearsal) inspect(d *Database) func(context.Context, Querier, string) (*Table, error) {
	return func(ctx context.Context, _ Querier, table string) (*Table, error) {
		t, err := d.Inspect(ctx, r.Querier, table)
		if t == nil && err == nil {
			t = r.made[table]
		}
		return t, err
	}
}

var (
	createTable = text.LazyRegexp("(?s)CREATE TABLE IF NOT EXISTS [`\"]?([^`\" ]+)[`\"]? \\((.*)\\)")
	tableColumn = text.LazyRegexp("^[`\"]?(\\w+)[`\"]? ([A-Z].*?)(?: NOT NULL| NULL| PRIMARY KEY| DEFAULT.*|,)*$")
	tableIndex  = text.LazyRegexp(`^(?:UNIQUE )?KEY (\w+)`)
)

// madeBy returns the table that one of our own statements creates, with its columns and
// the names of its indexes.
func madeBy(query string) (name string, t *Table) {
	m := createTable.FindStringSubmatch(query)
	if m == nil {
		return "", nil
	}
	t = &Table{}
	for line := range strings.Lines(m[2]) {
		line = strings.TrimSpace(line)
		if i := tableIndex.FindStringSubmatch(line); i != nil {
			t.Indexes = append(t.Indexes, Index{Name: i[1]})
		} else if c := tableColumn.FindStringSubmatch(line); c != nil && c[1] != "PRIMARY" && c[1] != "FOREIGN" {
			t.Columns = append(t.Columns, Column{Name: c[1], Type: strings.TrimSuffix(c[2], ",")})
		}
	}
	return m[1], t
}

var placeholder = text.LazyRegexp(`\?|\$\d+`)

// withArguments puts the numbers and flags of goose's own statements into the text.
func withArguments(query string, args []any) string {
	next := 0
	if len(args) == 0 {
		return query
	}
	return placeholder.ReplaceAllStringFunc(query, func(mark string) string {
		i := next
		if next++; mark[0] == '$' {
			n, _ := strconv.Atoi(mark[1:])
			i = n - 1
		}
		if i < 0 || i >= len(args) {
			return mark
		}
		return fmt.Sprint(args[i])
	})
}
