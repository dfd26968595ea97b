package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/text"
)

// Error numbers, https://mariadb.com/kb/en/mariadb-error-codes/ and
// https://dev.mysql.com/doc/mysql-errors/8.4/en/server-error-reference.html.
const (
	errTooManyConnections  = 1040
	errDatabaseDenied      = 1044
	errAccessDenied        = 1045
	errUnknownCommand      = 1047 // Galera: this node is not part of the cluster
	errNull                = 1048
	errUnknownDatabase     = 1049
	errTableExists         = 1050
	errShutdown            = 1053
	errKeyName             = 1061
	errDuplicate           = 1062
	errNoSuchTable         = 1146
	errSnapshot            = 1020 // MariaDB: changed since the snapshot
	errTooManyOfUser       = 1203
	errLockWait            = 1205
	errDeadlock            = 1213
	errParent              = 1216
	errReferredHidden      = 1217 // without the table, which the user may not read
	errOutOfRange          = 1264
	errOptionPrevents      = 1290 // --read-only
	errTruncated           = 1292
	errIncorrect           = 1366
	errReferred            = 1451
	errNoParent            = 1452
	errAccessDeniedNoWord  = 1698
	errReadOnlyTransaction = 1792
	errReadOnlyMode        = 1836
)

// dialect returns the dialect of MySQL and MariaDB. Both get the same statements, so
// MariaDB's RETURNING is not used.
func dialect(s server) sqladapter.Dialect {
	return sqladapter.Dialect{
		Quote:          quote,
		OnDuplicateKey: true,
		ForUpdate:      " FOR UPDATE",
		SkipLocked:     " FOR UPDATE SKIP LOCKED",
		Exact:          exact,
		IDText:         func(column string) string { return `CAST(` + column + ` AS CHAR) COLLATE ` + s.collation() },
		LikePrefix:     true,
		Read:           readAs,
		Now:            `SELECT UTC_TIMESTAMP(6)`,
		DeleteLimit:    true,
		DeleteJoin:     true,
		// EncodeTime and DecodeTime are nil: the driver reads and writes DATETIME and
		// TIMESTAMP in UTC, the time zone of every connection.
		Unique:     is(errDuplicate),
		ForeignKey: is(errNoParent, errParent),
		NotNull:    is(errNull),
		Referring:  referring,
		Retryable:  retryable,
		NoSuchID:   noSuchID,
		Said:       said,
	}
}

var referringTable = text.LazyRegexp("\\(`(?:[^`]|``)*`\\.`((?:[^`]|``)*)`, CONSTRAINT ")

// referring reads the name of the table from the error, whose text the session sets to
// English.
func referring(_ context.Context, _ string, err error) (table string, refers bool) {
	var e *mysql.MySQLError
	if !is(errReferred, errReferredHidden)(err) || !errors.As(err, &e) {
		return "", false
	}
	if found := referringTable.FindStringSubmatch(e.Message); found != nil {
		table = strings.ReplaceAll(found[1], "``", "`")
	}
	return table, true
}

// readAs casts columns to text: the server has many such types, for example DATE and
// SET.
func readAs(column string, k sqladapter.Kind) string {
	if k == sqladapter.Text {
		return `CAST(` + column + ` AS CHAR)`
	}
	return column
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// exact returns a condition that compares bytes. It is added to a comparison in the
// column's collation, which uses the index.
func exact(column string) string {
	return `CAST(CONVERT(` + column + ` USING utf8mb4) AS BINARY) = CAST(? AS BINARY)`
}

// is returns a function that reports whether an error has one of the numbers.
func is(numbers ...uint16) func(error) bool {
	return func(err error) bool {
		var e *mysql.MySQLError
		return errors.As(err, &e) && slices.Contains(numbers, e.Number)
	}
}

// retryable reports whether an error means that nothing was done. A lock wait timeout
// undoes only the statement, but the adapter then rolls the whole step back. A server
// that became read-only in a failover refuses the statement; the driver then closes the
// connection, so that the next one finds the new primary, and returns ErrBadConn. It
// does so whenever nothing reached the server.
func retryable(err error) bool {
	return errors.Is(err, driver.ErrBadConn) ||
		is(errDeadlock, errLockWait, errSnapshot, errUnknownCommand, errOptionPrevents, errReadOnlyTransaction, errReadOnlyMode)(err)
}

var quotedValue = text.LazyRegexp(`(?s)(value|entry)(:?) (?:'.*'( for (?:column|key) )|'.*')`)

// said returns an error without the values that the server quotes.
func said(err error) string {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return err.Error()
	}
	plain := *e
	plain.Message = quotedValue.ReplaceAllString(e.Message, "$1$2 …$3")
	return strings.ReplaceAll(err.Error(), e.Error(), plain.Error())
}

// noSuchID reports whether a numeric column, or one of MariaDB's type UUID, refused a
// text value. It reads the message, which the session sets to English.
func noSuchID(err error) bool {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Number {
	case errOutOfRange:
		return true
	case errTruncated, errIncorrect:
		return strings.HasPrefix(e.Message, "Incorrect integer value") || strings.HasPrefix(e.Message, "Incorrect uuid value")
	}
	return false
}
