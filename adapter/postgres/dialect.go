package postgres

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"authsvc/internal/sql/sqladapter"
)

// dialect returns PostgreSQL's dialect. It uses no feature that CockroachDB or
// YugabyteDB lacks.
func dialect() sqladapter.Dialect {
	return sqladapter.Dialect{
		Quote:       quote,
		Placeholder: func(n int) string { return "$" + strconv.Itoa(n) },
		Returning:   true,
		WritingCTE:  true,
		ForUpdate:   " FOR UPDATE",
		SkipLocked:  " FOR UPDATE SKIP LOCKED",
		Exact:       func(column string) string { return column + `::text COLLATE "C" = ?::text` },
		IDText:      byteText,
		Indexed:     byteText,
		Read:        readAs,
		Now:         `SELECT clock_timestamp()`,
		InSubquery:  func(query string) string { return "= ANY (ARRAY(" + query + "))" },
		// EncodeTime and DecodeTime are nil: the driver sends times in binary, as UTC
		// wall clock for TIMESTAMP and as an instant for TIMESTAMPTZ. The session's
		// time zone has no effect.

		Unique:      is(uniqueViolation),
		ForeignKey:  is(foreignKeyViolation),
		NotNull:     is(notNullViolation),
		Referring:   referring,
		Retryable:   retryable,
		Interrupted: interrupted,
		NoSuchID:    noSuchID,
		Said:        said,
		NoSuchTable: is(noSuchTable, noSuchColumn),
	}
}

// referring reads the name of the table from the error.
func referring(_ context.Context, _ string, err error) (table string, refers bool) {
	var e *pgconn.PgError
	if !is(foreignKeyViolation, restrictViolation)(err) || !errors.As(err, &e) {
		return "", false
	}
	return e.TableName, true
}

// byteText converts a column to text that is compared byte for byte.
func byteText(column string) string { return `CAST(` + column + ` AS TEXT) COLLATE "C"` }

// readAs casts a column to text if the driver cannot read its type, such as an enum.
func readAs(column string, k sqladapter.Kind) string {
	switch k {
	case sqladapter.Text, sqladapter.Decimal, sqladapter.JSON, sqladapter.Float: // as a number, a REAL would gain digits that are not stored
		return `CAST(` + column + ` AS TEXT)`
	case sqladapter.List:
		return `CAST(to_json(` + column + `) AS TEXT)`
	}
	return column
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
