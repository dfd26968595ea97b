package sqlite

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
	direct "zombiezen.com/go/sqlite"

	"authsvc/internal/sql/sqladapter"
)

// dialect returns SQLite's dialect. A write transaction takes the file's only write
// lock when it begins, so rows need no locks.
func dialect() sqladapter.Dialect {
	return sqladapter.Dialect{
		Quote:       quote,
		Exact:       func(column string) string { return column + ` = ? COLLATE BINARY` },
		IDText:      func(column string) string { return `CAST(` + column + ` AS TEXT)` },
		Returning:   true,
		OneWriter:   true,
		LocalReads:  true,
		EncodeTime:  func(t time.Time) any { return t.UnixMilli() },
		DecodeTime:  decodeTime,
		TimeExpr:    timeExpr,
		Unique:      is(lib.SQLITE_CONSTRAINT_UNIQUE, lib.SQLITE_CONSTRAINT_PRIMARYKEY, lib.SQLITE_CONSTRAINT_ROWID),
		ForeignKey:  is(lib.SQLITE_CONSTRAINT_FOREIGNKEY),
		NotNull:     is(lib.SQLITE_CONSTRAINT_NOTNULL),
		NoSuchTable: noSuchTable,
		// busy_timeout covers ordinary waiting, but not these two errors.
		Retryable: is(lib.SQLITE_BUSY_RECOVERY, lib.SQLITE_BUSY_SNAPSHOT),
	}
}

// timeExpr returns the SQL expression for a time column in milliseconds since 1970. The
// column may hold text or numbers.
func timeExpr(column string) string {
	return `CASE typeof(` + column + `) WHEN 'text' THEN unixepoch(` + column + `, 'subsec') * 1000 ELSE ` + column + ` END`
}

func quote(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// is returns a function that reports whether an error of either driver has one of the
// extended result codes.
func is(codes ...int) func(error) bool {
	return func(err error) bool {
		var e *sqlite.Error
		if errors.As(err, &e) {
			return slices.Contains(codes, e.Code())
		}
		return err != nil && slices.Contains(codes, int(direct.ErrCode(err)))
	}
}

// noSuchTable checks the message: all errors in statements share one code.
func noSuchTable(err error) bool {
	if !is(lib.SQLITE_ERROR)(err) {
		return false
	}
	text := err.Error()
	return strings.Contains(text, ": no such ") || strings.Contains(text, " has no column named ")
}

// decodeTime reads the time formats of Prisma (integer milliseconds, or ISO 8601 text
// in newer versions) and of other drivers. Text without a time zone is UTC.
func decodeTime(v any) (time.Time, error) {
	switch v := v.(type) {
	case int64:
		return time.UnixMilli(v), nil
	case float64:
		return time.UnixMilli(int64(v)), nil
	case string:
		for _, layout := range timeLayouts {
			if t, err := time.Parse(layout, v); err == nil {
				return t, nil
			}
		}
		return time.Time{}, errors.New("time column holds text that is not a time")
	}
	return time.Time{}, fmt.Errorf("time column holds a %T", v)
}

// timeLayouts lists the layouts found in time columns. time.Parse accepts fractional
// seconds in all of them.
var timeLayouts = []string{time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05", time.DateTime,
	"2006-01-02T15:04Z07:00", "2006-01-02 15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly,
	"2006-01-02 15:04:05 -0700 MST"} // the last is the format of Go's Time.String
