package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"authsvc/internal/sql/sqlschema"
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
		return nil, fmt.Errorf("table %s is a %s %s, but must be an InnoDB table, which supports transactions: ALTER TABLE %s ENGINE=InnoDB",
			table, engine, strings.ToLower(kind), quote(table))
	}
	t, err := catalog.Describe(ctx, q, table)
	if err != nil || t == nil {
		return nil, err
	}
	for i := range t.Indexes {
		index := &t.Indexes[i]
		index.Folded = slices.ContainsFunc(t.Columns, func(c sqlschema.Column) bool { return c.Folded && slices.Contains(index.Columns, c.Name) })
	}
	return t, nil
}

// catalog leaves the Folded field of indexes to inspect.
var catalog = sqlschema.Catalog{
	// For a nullable column without a default, MariaDB returns the text 'NULL'.
	Columns: `SELECT COLUMN_NAME, COLUMN_TYPE, DATA_TYPE, COALESCE(CHARACTER_SET_NAME, ''), COALESCE(COLLATION_NAME, ''),
		COALESCE(CHARACTER_MAXIMUM_LENGTH, 0), COALESCE(DATETIME_PRECISION, 3), IS_NULLABLE = 'NO',
		COLUMN_DEFAULT IS NOT NULL AND COLUMN_DEFAULT <> 'NULL' OR EXTRA LIKE '%auto_increment%' OR EXTRA LIKE '% GENERATED%',
		EXTRA LIKE '% GENERATED%'
		FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY ORDINAL_POSITION`,
	Column: scanColumn,
	// An index on a column prefix says nothing about the column; nor does an index on
	// an expression, which has no column name.
	Indexes: `SELECT INDEX_NAME, NON_UNIQUE = 0, CASE WHEN SUB_PART IS NULL THEN COALESCE(COLUMN_NAME, '') ELSE '' END, false
		FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? ORDER BY INDEX_NAME, SEQ_IN_INDEX`,
	// Both tables are filtered by schema and name. Otherwise MariaDB opens every table
	// of every database for the join.
	References: `SELECT k.REFERENCED_TABLE_NAME, k.COLUMN_NAME, r.DELETE_RULE = 'CASCADE'
		FROM information_schema.KEY_COLUMN_USAGE k JOIN information_schema.REFERENTIAL_CONSTRAINTS r ON r.CONSTRAINT_NAME = k.CONSTRAINT_NAME
		WHERE k.TABLE_SCHEMA = DATABASE() AND k.TABLE_NAME = ? AND k.REFERENCED_TABLE_SCHEMA = DATABASE()
		AND r.CONSTRAINT_SCHEMA = DATABASE() AND r.TABLE_NAME = ?`,
}

const allColumns = `SELECT '', t.TABLE_NAME, c.COLUMN_NAME FROM information_schema.TABLES t
	JOIN information_schema.COLUMNS c ON c.TABLE_SCHEMA = t.TABLE_SCHEMA AND c.TABLE_NAME = t.TABLE_NAME
	WHERE t.TABLE_SCHEMA = DATABASE() AND c.TABLE_SCHEMA = DATABASE() AND t.TABLE_TYPE = 'BASE TABLE' ORDER BY t.TABLE_NAME, c.ORDINAL_POSITION`

func scanColumn(rows sqlschema.Row) (sqlschema.Column, error) {
	var c sqlschema.Column
	var kind, charset, collation string
	var length uint64
	var digits int
	if err := rows.Scan(&c.Name, &c.Type, &kind, &charset, &collation, &length, &digits, &c.NotNull, &c.HasDefault, &c.Generated); err != nil {
		return c, err
	}
	c.Base, c.Required = kind, c.NotNull && !c.HasDefault
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
	return c, nil
}

// precision returns the precision of a time with so many fractional digits, 0 if they
// suffice.
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
