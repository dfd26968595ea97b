package sqlschema

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/sql/stores"
)

// Shared lists the shared tables with their rows, in the order in which they can be
// created. It writes nothing.
func (d *Database) Shared(ctx context.Context) ([]stores.SharedTable, error) {
	found, err := d.Tables(ctx)
	if err != nil {
		return nil, d.withScheme(err)
	}
	var list []stores.SharedTable
	for _, logical := range tables() {
		t := stores.SharedTable{Logical: logical, Name: d.Names[logical], Exists: found[logical] != nil}
		if t.Exists {
			if t.Rows, err = d.count(ctx, d.Quote(t.Name)); err != nil {
				return nil, d.withScheme(err)
			}
		}
		list = append(list, t)
	}
	return list, nil
}

// countTimeout bounds the count of a table that is large or locked.
const countTimeout = 3 * time.Second

// count returns the rows of a table, or [stores.Uncounted] after countTimeout.
func (d *Database) count(ctx context.Context, quoted string) (n int64, err error) {
	limited, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()
	err = d.DB.QueryRowContext(limited, `SELECT COUNT(*) FROM `+quoted).Scan(&n)
	switch {
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return stores.Uncounted, nil
	case err != nil:
		return 0, fmt.Errorf("count the rows of %s: %w", quoted, err)
	}
	return n, nil
}

// Usable returns the error with which Migrate would refuse to bring the schema up to
// date. It writes nothing.
func (d *Database) Usable(ctx context.Context) error {
	version, err := d.Version(ctx)
	if err == nil && version < Latest() {
		err = d.withScheme(d.checkUsable(ctx, d.DB))
	}
	return err
}

// missing lists the shared tables that do not exist.
func missing(found Tables) []string {
	return slices.DeleteFunc(tables(), func(logical string) bool { return found[logical] != nil })
}

// checkMissed returns a [stores.MissedError] if a shared table would be created although
// a similar one exists.
func (d *Database) checkMissed(ctx context.Context, q Querier, found Tables) error {
	lacking := missing(found)
	if !d.Shares || len(lacking) == 0 {
		return nil
	}
	all, err := d.others(ctx, q)
	if err != nil {
		return fmt.Errorf("look for the tables of another program: %w", err)
	}
	like := d.Naming.Similar(d.Names, lacking, all, sqladapter.Naming.Resolve)
	if like == nil {
		return nil
	}
	var absent, similar []string
	for _, logical := range lacking {
		absent = append(absent, d.Names[logical])
		if f, ok := like.Tables[logical]; ok {
			similar = append(similar, d.describe(ctx, f))
		}
	}
	parameter := ""
	if like.Schema != "" {
		if parameter, err = d.SchemaParameter(ctx, q, like.Schema, len(found) > 0 && !like.Whole); err != nil {
			return fmt.Errorf("name the schema of the tables of another program: %w", err)
		}
	}
	return stores.Missed(absent, similar, like.Naming.YAML(), parameter)
}

// describe names a table, with its rows if they can be counted.
func (d *Database) describe(ctx context.Context, f sqladapter.Found) string {
	name, quoted := f.Name, d.Quote(f.Name)
	if f.Schema != "" {
		name, quoted = f.Schema+"."+f.Name, d.Quote(f.Schema)+"."+quoted
	}
	if n, err := d.count(ctx, quoted); err == nil && n != stores.Uncounted {
		return fmt.Sprintf("%s (rows: %d)", name, n)
	}
	return name
}

// others lists the tables of the database with their columns.
func (d *Database) others(ctx context.Context, q Querier) (list []sqladapter.Found, err error) {
	rows, err := q.QueryContext(ctx, d.AllColumns)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var f sqladapter.Found
		var column string
		if err := rows.Scan(&f.Schema, &f.Name, &column); err != nil {
			return nil, err
		}
		if last := len(list) - 1; last >= 0 && list[last].Schema == f.Schema && list[last].Name == f.Name {
			list[last].Columns = append(list[last].Columns, column)
			continue
		}
		f.Columns = []string{column}
		list = append(list, f)
	}
	return list, rows.Err()
}

// createdWarning names the shared tables that Prepare created.
func (d *Database) createdWarning() []string {
	if !d.Shares || len(d.created) == 0 {
		return nil
	}
	var names []string
	for _, logical := range d.created {
		names = append(names, d.Names[logical])
	}
	return []string{"created the tables " + strings.Join(names, ", ") +
		", which did not exist: if another program has such tables, set storage.naming, storage.tables or the database in storage.url to share them"}
}
