package postgres

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"authsvc/internal/sqladapter"
)

// dialect is PostgreSQL's, without what CockroachDB and YugabyteDB lack.
func dialect() sqladapter.Dialect {
	return sqladapter.Dialect{
		Quote:       quote,
		Placeholder: func(n int) string { return "$" + strconv.Itoa(n) },
		Returning:   true,
		OrNothing:   " ON CONFLICT DO NOTHING",
		ForUpdate:   " FOR UPDATE",
		SkipLocked:  " FOR UPDATE SKIP LOCKED",
		Exact:       func(column string) string { return column + `::text COLLATE "C" = ?::text` },
		IDText:      func(column string) string { return `CAST(` + column + ` AS TEXT) COLLATE "C"` },
		Now:         `SELECT clock_timestamp()`,
		Among:       func(query string) string { return "= ANY (ARRAY(" + query + "))" },
		// Steps lock the rows that they rely on and then have to see what was
		// committed before, whatever the default of the database is.
		Isolation: sql.LevelReadCommitted,

		// The driver sends times in binary: the wall clock of UTC to TIMESTAMP,
		// the moment to TIMESTAMPTZ. No session's time zone has a part in it.
		EncodeTime: func(t time.Time) any { return t },
		DecodeTime: decodeTime,

		Unique:      is(uniqueViolation),
		ForeignKey:  is(foreignKeyViolation),
		Retryable:   retryable,
		Interrupted: interrupted,
		NoSuchID:    is(invalidText, numberOutOfRange),
	}
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

func decodeTime(v any) (time.Time, error) {
	t, ok := v.(time.Time)
	if !ok {
		return time.Time{}, fmt.Errorf("time column holds a %T", v)
	}
	return t, nil
}
