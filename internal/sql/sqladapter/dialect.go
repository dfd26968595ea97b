package sqladapter

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// A Dialect describes the differences of one SQL database. Every function field is
// required unless its comment says otherwise.
type Dialect struct {
	// Quote turns any name into an identifier.
	Quote func(name string) string
	// Placeholder returns the n-th parameter of a statement, from 1. Nil: "?".
	Placeholder func(n int) string
	// Returning means that DELETE and UPDATE can return rows. Without it, each such
	// step is a transaction of two statements.
	Returning bool
	// WritingCTE means that INSERT and DELETE may stand in WITH, each on another table,
	// and that ORDER BY determines the order in which ForUpdate locks rows.
	WritingCTE bool
	// OnDuplicateKey means that INSERT has the clause ON DUPLICATE KEY UPDATE instead of
	// ON CONFLICT.
	OnDuplicateKey bool
	// ForUpdate ends a SELECT whose row is about to be changed, such as " FOR UPDATE".
	// Empty if transactions exclude each other anyway.
	ForUpdate string
	// Exact compares a column byte for byte with one parameter, after an index found
	// the row, if the database usually compares the column loosely. Nil: no column
	// needs it.
	Exact func(column string) string
	// IDText converts an id of a shared table to the text type and collation of our own
	// tables.
	IDText func(column string) string
	// Indexed returns the expression over which a text column has an index in the order
	// that a range of texts needs. Nil: the column itself.
	Indexed func(column string) string
	// LikePrefix means that texts with a prefix are not a range of the index, but LIKE
	// finds them by it.
	LikePrefix bool
	// Read returns the expression that selects a column of the application, so that the
	// driver returns the type that [Kind] requires. Nil: the column itself.
	Read func(column string, k Kind) string
	// Now is a query for the time of the database, in UTC. Empty: the database uses the
	// clock of this machine.
	Now string
	// InSubquery compares the left side with the rows of a query. Its form must make the
	// database run the query once, first, and find the rows by their index. Nil: "IN".
	InSubquery func(query string) string
	// DeleteLimit means that DELETE accepts ORDER BY and LIMIT.
	DeleteLimit bool
	// DeleteJoin means that DELETE joins tables, and would read the whole table with a
	// subquery instead.
	DeleteJoin bool
	// OneWriter means that the writing pool has one connection. Callers get it in the
	// order in which they asked for it.
	OneWriter bool
	// LocalReads means that a read waits only for this process and its disk, and needs
	// no timeout.
	LocalReads bool
	// SkipLocked ends a SELECT that picks rows of a queue, or rows to sweep, such as
	// " FOR UPDATE SKIP LOCKED". Empty as for ForUpdate.
	SkipLocked string

	// EncodeTime and DecodeTime convert the time columns of the shared tables, in UTC
	// and with millisecond precision. Neither receives an absent time. Nil: the driver
	// accepts and returns a [time.Time]. Our own tables hold milliseconds since 1970 in
	// every database.
	EncodeTime func(time.Time) any
	DecodeTime func(any) (time.Time, error)
	// TimeExpr makes a time column comparable with an encoded time, if other programs
	// may have written it in another form. Nil: the column itself.
	TimeExpr func(column string) string

	// Unique, ForeignKey and NotNull report which constraint refused a write.
	Unique     func(error) bool
	ForeignKey func(error) bool
	NotNull    func(error) bool
	// Referring reports whether err, of the deletion of a user, means that rows of the
	// application refer to the user. It returns the name of their table, or "" if the
	// database does not tell.
	Referring func(ctx context.Context, userID string, err error) (table string, refers bool)
	// Said returns the text of an error for the log, without values of rows, which may
	// be secret, and with what to do about an error that repeating does not mend. Nil:
	// the text of the error.
	Said func(error) string
	// Retryable reports an error that rolled back a transaction which may succeed the
	// next time.
	Retryable func(error) bool
	// Interrupted reports an error that ended a connection, and with it everything not
	// committed. Work that may have been committed is not repeated. Nil: none.
	Interrupted func(error) bool
	// NoSuchID reports that a parameter cannot be an id in the column that it was
	// compared with, such as a word in a column of numbers. Nil: never.
	NoSuchID func(error) bool
	// NoSuchTable reports that a table or a column is missing. Nil: preparing the
	// statements detects that.
	NoSuchTable func(error) bool
}

// setDefaults sets the defaults for a driver that uses [time.Time].
func (d *Dialect) setDefaults() {
	if d.Indexed == nil {
		d.Indexed = func(column string) string { return column }
	}
	if d.EncodeTime == nil {
		d.EncodeTime = func(t time.Time) any { return t }
	}
	if d.DecodeTime == nil {
		d.DecodeTime = func(v any) (time.Time, error) {
			t, ok := v.(time.Time)
			if !ok {
				return time.Time{}, fmt.Errorf("time column holds a %T", v)
			}
			return t, nil
		}
	}
}

// Rebind replaces each ? in text by the placeholder of the database.
func (d *Dialect) Rebind(text string) string {
	if d.Placeholder == nil {
		return text
	}
	var b strings.Builder
	for n := 1; ; n++ {
		before, after, found := strings.Cut(text, "?")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(d.Placeholder(n))
		text = after
	}
}

// insertMissing returns an INSERT into one of our own tables that does nothing if the key
// exists.
func (d *Dialect) insertMissing(table, columns, values string) string {
	insert := `INSERT INTO ` + table + ` (` + columns + `) VALUES (` + values + `)`
	if d.OnDuplicateKey {
		return insert + ` ON DUPLICATE KEY UPDATE id = id`
	}
	return insert + ` ON CONFLICT DO NOTHING`
}

// begins returns a condition that an index serves and that all texts with a prefix meet
// or, if after is set, all such texts after another. Its parameters are those that
// beginning returns. A column that the database compares loosely may meet it with other
// texts, too.
func (d *Dialect) begins(column string, after bool) string {
	switch {
	case d.LikePrefix && after:
		return column + ` LIKE ? ESCAPE '|' AND ` + column + ` > ?`
	case d.LikePrefix:
		return column + ` LIKE ? ESCAPE '|'`
	case after: // a second lower bound would only filter
		return d.Indexed(column) + ` < ? AND ` + d.Indexed(column) + ` > ?`
	}
	return d.Indexed(column) + ` < ? AND ` + d.Indexed(column) + ` >= ?`
}

var likeEscapes = strings.NewReplacer("|", "||", "%", "|%", "_", "|_")

// beginning returns the arguments of begins for a prefix and the text to start after, if
// there is one. No character is greater than the last one of Unicode.
func (d *Dialect) beginning(prefix, after string) []any {
	switch {
	case d.LikePrefix && after != "":
		return []any{likeEscapes.Replace(prefix) + "%", after}
	case d.LikePrefix:
		return []any{likeEscapes.Replace(prefix) + "%"}
	}
	return []any{prefix + "\U0010ffff", cmp.Or(after, prefix)}
}

// timeExpr applies TimeExpr or its default.
func (d *Dialect) timeExpr(column string) string {
	if d.TimeExpr == nil {
		return column
	}
	return d.TimeExpr(column)
}

// Traits describes the shared tables of one database, which other programs may have
// created. The zero value describes tables that authsvc creates.
type Traits struct {
	// GeneratedIDs names the tables, such as "User", whose ids are numbers that the
	// database generates. Ids that the engine proposes are dropped.
	GeneratedIDs map[string]bool
	// UUIDs names the tables whose ids are UUIDs. Proposed ids that are not UUIDs are
	// replaced.
	UUIDs map[string]bool
	// NoIDs names the tables, Account or Session, without an id column.
	NoIDs map[string]bool
	// Timestamps lists, by table, the physical names of further columns that must
	// receive the time at which a row is written.
	Timestamps map[string][]string
	// TextTimes means that the time columns hold ISO 8601 text.
	TextTimes bool
	// Folded names the columns, such as "User.email", whose text the database compares
	// without regard to case, accents or trailing blanks.
	Folded map[string]bool
	// NoCascade means that deleting a user does not delete its accounts and sessions.
	NoCascade bool
	// Precision maps time columns, such as "Session.expires", that do not hold
	// milliseconds to their precision. Times are truncated, never rounded up.
	Precision map[string]time.Duration
	// UserColumns lists the columns of [Naming.UserColumns] that exist.
	UserColumns []UserColumn
	// NarrowExpiry means that Account.expires_at ends in the year 2038.
	NarrowExpiry bool
}
