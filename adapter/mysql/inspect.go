package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"authsvc/internal/sqlschema"
)

// inspect describes a table of the current database.
func inspect(ctx context.Context, q sqlschema.Querier, table string) (*sqlschema.Table, error) {
	const query = `SELECT TABLE_TYPE, COALESCE(ENGINE, '') FROM information_schema.TABLES
		WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ?`
	var kind, engine string
	err := q.QueryRowContext(ctx, query, table).Scan(&kind, &engine)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if kind != "BASE TABLE" || !strings.EqualFold(engine, "InnoDB") {
		return nil, fmt.Errorf("table %s is a %s %s, but has to be a table of InnoDB, which has transactions: ALTER TABLE %s ENGINE=InnoDB",
			table, engine, strings.ToLower(kind), quote(table))
	}
	t := &sqlschema.Table{}
	for _, part := range []func(context.Context, sqlschema.Querier, string, *sqlschema.Table) error{columns, indexes, references} {
		if err := part(ctx, q, table, t); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func columns(ctx context.Context, q sqlschema.Querier, table string, t *sqlschema.Table) error {
	// MariaDB says 'NULL', as text, for a column that may be NULL and has no
	// default.
	const query = `SELECT COLUMN_NAME, COLUMN_TYPE, DATA_TYPE, COALESCE(CHARACTER_SET_NAME, ''), COALESCE(COLLATION_NAME, ''),
		COALESCE(CHARACTER_MAXIMUM_LENGTH, 0), COALESCE(DATETIME_PRECISION, 3), IS_NULLABLE = 'NO',
		COLUMN_DEFAULT IS NOT NULL AND COLUMN_DEFAULT <> 'NULL' OR EXTRA LIKE '%auto_increment%' OR EXTRA LIKE '% GENERATED%'
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`
	return each(ctx, q, query, []any{table}, func(rows *sql.Rows) error {
		var c sqlschema.Column
		var kind, charset, collation string
		var length uint64
		var digits int
		var notNull bool
		if err := rows.Scan(&c.Name, &c.Type, &kind, &charset, &collation, &length, &digits, &notNull, &c.Made); err != nil {
			return err
		}
		c.Required = notNull && !c.Made
		c.Size = int(min(length, 1<<31-1)) // LONGTEXT has 4 GiB
		if bytes := slices.Index([]string{"", "tinyint", "smallint", "mediumint", "int"}, kind); bytes > 0 || kind == "bigint" {
			c.Number, c.Size = true, bytes
			if kind == "bigint" {
				c.Size = 8
			}
		}
		if collation != "" {
			c.Type += " CHARACTER SET " + charset + " COLLATE " + collation
			c.Folded = folds(collation)
		}
		c.Precision = precision(digits)
		t.Columns = append(t.Columns, c)
		return nil
	})
}

// precision of a time with so many digits after the second, 0 if they suffice.
func precision(digits int) time.Duration {
	if digits >= 3 {
		return 0
	}
	p := time.Second
	for range digits {
		p /= 10
	}
	return p
}

func indexes(ctx context.Context, q sqlschema.Querier, table string, t *sqlschema.Table) error {
	// A prefix of a column, and an expression, which has no name, say nothing
	// about the column.
	const query = `SELECT INDEX_NAME, NON_UNIQUE = 0, CASE WHEN SUB_PART IS NULL THEN COALESCE(COLUMN_NAME, '') ELSE '' END
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY INDEX_NAME, SEQ_IN_INDEX`
	folded := map[string]bool{}
	for _, c := range t.Columns {
		folded[c.Name] = c.Folded
	}
	return each(ctx, q, query, []any{table}, func(rows *sql.Rows) error {
		var name, column string
		var unique bool
		if err := rows.Scan(&name, &unique, &column); err != nil {
			return err
		}
		last := len(t.Indexes) - 1
		if last < 0 || t.Indexes[last].Name != name {
			t.Indexes = append(t.Indexes, sqlschema.Index{Name: name, Unique: unique})
			last++
		}
		index := &t.Indexes[last]
		index.Columns = append(index.Columns, column)
		index.Folded = index.Folded || folded[column]
		return nil
	})
}

func references(ctx context.Context, q sqlschema.Querier, table string, t *sqlschema.Table) error {
	// Database and table are named for both: MariaDB would open all tables of
	// all databases to join them.
	const query = `SELECT k.REFERENCED_TABLE_NAME, k.COLUMN_NAME, r.DELETE_RULE = 'CASCADE'
		FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r ON r.CONSTRAINT_NAME = k.CONSTRAINT_NAME
		WHERE k.TABLE_SCHEMA = DATABASE() AND k.TABLE_NAME = ? AND k.REFERENCED_TABLE_SCHEMA = DATABASE()
		AND r.CONSTRAINT_SCHEMA = DATABASE() AND r.TABLE_NAME = ?`
	return each(ctx, q, query, []any{table, table}, func(rows *sql.Rows) error {
		var r sqlschema.Reference
		if err := rows.Scan(&r.Table, &r.Column, &r.Cascade); err != nil {
			return err
		}
		t.References = append(t.References, r)
		return nil
	})
}

// each calls scan for each row of a query about a table.
func each(ctx context.Context, q sqlschema.Querier, query string, args []any, scan func(*sql.Rows) error) error {
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
