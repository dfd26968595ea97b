package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"authsvc/internal/sqlschema"
)

// inspect describes a table.
func inspect(ctx context.Context, q sqlschema.Querier, table string) (*sqlschema.Table, error) {
	t := &sqlschema.Table{}
	for _, part := range []func(context.Context, sqlschema.Querier, string, *sqlschema.Table) error{columns, indexes, references} {
		if err := part(ctx, q, table, t); err != nil {
			return nil, err
		}
	}
	if len(t.Columns) == 0 {
		return nil, nil
	}
	return t, nil
}

func columns(ctx context.Context, q sqlschema.Querier, table string, t *sqlschema.Table) error {
	// A lone INTEGER PRIMARY KEY is an alias of the row id, which SQLite makes.
	const query = `SELECT name, type, "notnull" AND dflt_value IS NULL AND NOT pk, pk = 1 AND upper(type) = 'INTEGER',
		upper(type) LIKE '%INT%', dflt_value IS NOT NULL FROM pragma_table_info(?)`
	return each(ctx, q, query, table, func(rows *sql.Rows) error {
		var c sqlschema.Column
		var alias bool
		if err := rows.Scan(&c.Name, &c.Type, &c.Required, &alias, &c.Number, &c.Made); err != nil {
			return err
		}
		c.Made = c.Made || alias
		t.Columns = append(t.Columns, c)
		return nil
	})
}

func indexes(ctx context.Context, q sqlschema.Querier, table string, t *sqlschema.Table) error {
	const query = `SELECT l.name, l."unique", x.name, x.coll FROM pragma_index_list(?) l, pragma_index_xinfo(l.name) x
		WHERE l.partial = 0 AND x.key = 1 ORDER BY l.seq, x.seqno`
	err := each(ctx, q, query, table, func(rows *sql.Rows) error {
		var name string
		var unique bool
		var column, collation sql.NullString // NULL: an expression
		if err := rows.Scan(&name, &unique, &column, &collation); err != nil {
			return err
		}
		last := len(t.Indexes) - 1
		if last < 0 || t.Indexes[last].Name != name {
			t.Indexes = append(t.Indexes, sqlschema.Index{Name: name, Unique: unique})
			last++
		}
		index := &t.Indexes[last]
		index.Columns = append(index.Columns, column.String)
		index.Folded = index.Folded || !strings.EqualFold(collation.String, "BINARY")
		return nil
	})
	return err
}

func references(ctx context.Context, q sqlschema.Querier, table string, t *sqlschema.Table) error {
	const query = `SELECT "table", "from", on_delete = 'CASCADE' FROM pragma_foreign_key_list(?)`
	return each(ctx, q, query, table, func(rows *sql.Rows) error {
		var r sqlschema.Reference
		if err := rows.Scan(&r.Table, &r.Column, &r.Cascade); err != nil {
			return err
		}
		t.References = append(t.References, r)
		return nil
	})
}

// each calls scan for each row of a query about a table.
func each(ctx context.Context, q sqlschema.Querier, query, table string, scan func(*sql.Rows) error) error {
	rows, err := q.QueryContext(ctx, query, table)
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

// textTimes reports whether the program that shares the file writes times as
// text. The latest row tells; without any, the type of the column does: text
// suits all but DATETIME, where older Prisma has numbers and newer reads both.
func (s *Store) textTimes(ctx context.Context) (bool, error) {
	for _, logical := range []string{"Session.expires", "VerificationToken.expires", "User.emailVerified"} {
		kind, err := s.kind(ctx, logical)
		if err != nil || kind != "" {
			return kind == "text", err
		}
	}
	t, err := inspect(ctx, s.reader, s.names["Session"])
	if err != nil || t == nil {
		return false, err
	}
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, s.names["Session.expires"]) {
			return !strings.EqualFold(c.Type, "DATETIME") && !c.Number, nil
		}
	}
	return false, nil
}

// kind is the type of the latest value in a column, empty if there is none.
func (s *Store) kind(ctx context.Context, logical string) (kind string, err error) {
	table, _, _ := strings.Cut(logical, ".")
	if t, err := inspect(ctx, s.reader, s.names[table]); t == nil || err != nil {
		return "", err
	}
	latest := ` ORDER BY rowid DESC`
	var without bool // WITHOUT ROWID: any row has to do
	err = s.reader.QueryRowContext(ctx, `SELECT wr FROM pragma_table_list WHERE schema = 'main' AND lower(name) = lower(?)`, s.names[table]).Scan(&without)
	if err != nil {
		return "", err
	}
	if without {
		latest = ""
	}
	query, err := s.names.Expand(`SELECT typeof({`+logical+`}) FROM {`+table+`} WHERE {`+logical+`} IS NOT NULL`+latest+` LIMIT 1`, quote)
	if err != nil {
		return "", err
	}
	err = s.reader.QueryRowContext(ctx, query).Scan(&kind)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return kind, err
}
