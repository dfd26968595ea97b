package postgres

import (
	"strconv"
	"strings"

	"authsvc/internal/sql/sqladapter"
)

// dialect is PostgreSQL's, without what CockroachDB and YugabyteDB lack.
func dialect() sqladapter.Dialect {
	return sqladapter.Dialect{
		Quote:               quote,
		Placeholder:         func(n int) string { return "$" + strconv.Itoa(n) },
		Returning:           true,
		OnConflictDoNothing: " ON CONFLICT DO NOTHING",
		ForUpdate:           " FOR UPDATE",
		SkipLocked:          " FOR UPDATE SKIP LOCKED",
		Exact:               func(column string) string { return column + `::text COLLATE "C" = ?::text` },
		IDText:              func(column string) string { return `CAST(` + column + ` AS TEXT) COLLATE "C"` },
		Read:                readAs,
		Now:                 `SELECT clock_timestamp()`,
		InSubquery:          func(query string) string { return "= ANY (ARRAY(" + query + "))" },
		// EncodeTime and DecodeTime are nil: the driver sends times in binary,
		// the wall clock of UTC to TIMESTAMP, the moment to TIMESTAMPTZ. The
		// time zone of the session plays no part.

		Unique:      is(uniqueViolation),
		ForeignKey:  is(foreignKeyViolation),
		Retryable:   retryable,
		Interrupted: interrupted,
		NoSuchID:    is(invalidText, numberOutOfRange),
		NoSuchTable: is(noSuchTable, noSuchColumn),
	}
}

// readAs has the database write what the driver does not know, such as an enum.
func readAs(column string, k sqladapter.Kind) string {
	switch k {
	case sqladapter.Text, sqladapter.Decimal, sqladapter.JSON, sqladapter.Float: // a REAL would come with digits that it has not
		return `CAST(` + column + ` AS TEXT)`
	case sqladapter.List:
		return `CAST(to_json(` + column + `) AS TEXT)`
	}
	return column
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }
