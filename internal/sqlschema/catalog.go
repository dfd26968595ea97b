package sqlschema

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// A Catalog holds the queries that describe a table. Each takes the name of
// the table, once for every ? where parameters are written so.
type Catalog struct {
	// Columns selects the Name, Type, Number, UUID, Size, Folded, Required and
	// HasDefault of each [Column], or else what Column scans.
	Columns string
	// Column scans a row of Columns. Nil: as above.
	Column func(*sql.Rows) (Column, error)
	// Indexes selects, for each column of each [Index], the name of the index,
	// Unique, the column ("" for an expression) and Folded. The rows of an index
	// come together, in the order of its columns.
	Indexes string
	// References selects the Table, Column and Cascade of each [Reference].
	References string
}

// Describe serves as [Database.Inspect]. A table without columns is not there.
func (c *Catalog) Describe(ctx context.Context, q Querier, table string) (*Table, error) {
	t := &Table{}
	for _, part := range []struct {
		query string
		scan  func(*sql.Rows) error
	}{
		{c.Columns, func(rows *sql.Rows) error { return c.scanColumn(rows, t) }},
		{c.Indexes, t.scanIndex},
		{c.References, t.scanReference},
	} {
		if err := each(ctx, q, part.query, table, part.scan); err != nil {
			return nil, err
		}
		if len(t.Columns) == 0 {
			return nil, nil
		}
	}
	return t, nil
}

func (c *Catalog) scanColumn(rows *sql.Rows, t *Table) (err error) {
	var column Column
	if c.Column != nil {
		column, err = c.Column(rows)
	} else {
		err = rows.Scan(&column.Name, &column.Type, &column.Number, &column.UUID, &column.Size, &column.Folded, &column.Required, &column.HasDefault)
	}
	t.Columns = append(t.Columns, column)
	return err
}

func (t *Table) scanIndex(rows *sql.Rows) error {
	var name, column string
	var unique, folded bool
	if err := rows.Scan(&name, &unique, &column, &folded); err != nil {
		return err
	}
	last := len(t.Indexes) - 1
	if last < 0 || t.Indexes[last].Name != name {
		t.Indexes = append(t.Indexes, Index{Name: name, Unique: unique})
		last++
	}
	index := &t.Indexes[last]
	index.Columns = append(index.Columns, column)
	index.Folded = index.Folded || folded
	return nil
}

func (t *Table) scanReference(rows *sql.Rows) error {
	var r Reference
	err := rows.Scan(&r.Table, &r.Column, &r.Cascade)
	t.References = append(t.References, r)
	return err
}

// each calls scan for each row of a query about a table.
func each(ctx context.Context, q Querier, query, table string, scan func(*sql.Rows) error) error {
	args := slices.Repeat([]any{table}, max(1, strings.Count(query, "?")))
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
