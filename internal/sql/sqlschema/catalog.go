package sqlschema

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// A Catalog holds the queries that describe a table. Each takes the name of the table,
// once for every ? if the database writes parameters so.
type Catalog struct {
	// Columns selects the Name, Type, Number, UUID, Size, Folded, Required, HasDefault,
	// Base, NotNull and Generated of each [Column], or the values that Column scans.
	Columns string
	// Column scans a row of Columns. Nil: scan the listed fields.
	Column func(Row) (Column, error)
	// Indexes selects, for each column of each [Index], the name of the index, Unique,
	// the column ("" for an expression) and Folded. The rows of an index are adjacent,
	// in the order of its columns.
	Indexes string
	// References selects the Table, Column and Cascade of each [Reference].
	References string
	// Several means that the queries take an array of table names and select the name
	// of the table first. Planning such queries costs more than running them.
	Several bool
}

// A Row is a row of a query about a table.
type Row interface{ Scan(to ...any) error }

// Describe implements [Database.Inspect]. A table without columns does not exist.
func (c *Catalog) Describe(ctx context.Context, q Querier, table string) (*Table, error) {
	if c.Several {
		found, err := c.DescribeAll(ctx, q, []string{table})
		return found[table], err
	}
	t := &Table{}
	for _, part := range c.parts() {
		err := each(ctx, q, part.query, table, func(rows *sql.Rows) error { return part.scan(rows, t) })
		if err != nil {
			return nil, err
		}
		if len(t.Columns) == 0 {
			return nil, nil
		}
	}
	return t, nil
}

// DescribeAll implements [Database.InspectAll].
func (c *Catalog) DescribeAll(ctx context.Context, q Querier, tables []string) (map[string]*Table, error) {
	found := map[string]*Table{}
	for i, part := range c.parts() {
		err := each(ctx, q, part.query, tables, func(rows *sql.Rows) error {
			var name string
			var t Table
			if err := part.scan(after{rows, &name}, &t); err != nil {
				return err
			}
			if i == 0 && found[name] == nil {
				found[name] = &Table{}
			}
			if of := found[name]; of != nil { // else created in the meantime
				of.add(&t)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// after is a row that begins with a name.
type after struct {
	Row
	name *string
}

func (a after) Scan(to ...any) error { return a.Row.Scan(append([]any{a.name}, to...)...) }

// A part is one of the queries. scan adds a row to a table.
type part struct {
	query string
	scan  func(Row, *Table) error
}

func (c *Catalog) parts() []part {
	return []part{{c.Columns, c.scanColumn}, {c.Indexes, scanIndex}, {c.References, scanReference}}
}

// add adds one row of the description of a table.
func (t *Table) add(row *Table) {
	t.Columns, t.References = append(t.Columns, row.Columns...), append(t.References, row.References...)
	for _, index := range row.Indexes {
		t.addIndex(index)
	}
}

// addIndex adds an index, or its next column.
func (t *Table) addIndex(index Index) {
	last := len(t.Indexes) - 1
	if last < 0 || t.Indexes[last].Name != index.Name {
		t.Indexes = append(t.Indexes, index)
		return
	}
	is := &t.Indexes[last]
	is.Columns = append(is.Columns, index.Columns...)
	is.Folded = is.Folded || index.Folded
}

func (c *Catalog) scanColumn(rows Row, t *Table) (err error) {
	var column Column
	if c.Column != nil {
		column, err = c.Column(rows)
	} else {
		err = rows.Scan(&column.Name, &column.Type, &column.Number, &column.UUID, &column.Size, &column.Folded, &column.Required, &column.HasDefault,
			&column.Base, &column.NotNull, &column.Generated)
	}
	t.Columns = append(t.Columns, column)
	return err
}

func scanIndex(rows Row, t *Table) error {
	index := Index{Columns: []string{""}}
	if err := rows.Scan(&index.Name, &index.Unique, &index.Columns[0], &index.Folded); err != nil {
		return err
	}
	t.addIndex(index)
	return nil
}

func scanReference(rows Row, t *Table) error {
	var r Reference
	err := rows.Scan(&r.Table, &r.Column, &r.Cascade)
	t.References = append(t.References, r)
	return err
}

// each calls scan for each row of a query about one or more tables.
func each(ctx context.Context, q Querier, query string, table any, scan func(*sql.Rows) error) error {
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
