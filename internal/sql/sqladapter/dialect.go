package sqladapter

import (
	"fmt"
	"strings"
	"time"
)

// A Dialect is what one SQL database does in its own way. Every function
// field is required unless it says otherwise.
type Dialect struct {
	// Quote makes an identifier out of any name.
	Quote func(name string) string
	// Placeholder is the n-th parameter of a statement, from 1. Nil: "?".
	Placeholder func(n int) string
	// Returning: DELETE and UPDATE can return rows. Without it those steps
	// become a transaction of two statements.
	Returning bool
	// OnConflictDoNothing ends an INSERT into an own table that does nothing
	// when the key is there, such as " ON CONFLICT DO NOTHING".
	OnConflictDoNothing string
	// ForUpdate ends a SELECT whose row is about to be changed, such as
	// " FOR UPDATE". Empty when transactions exclude each other anyway.
	ForUpdate string
	// Exact compares a column whose text is usually compared loosely with one
	// parameter, byte for byte, after an index found the row. Nil: no column
	// is ever so.
	Exact func(column string) string
	// IDText is an id of a shared table as the text that own tables have, in
	// their collation.
	IDText func(column string) string
	// Read is a column of the application's as it is to be selected, so that the
	// driver hands over what [Kind] says. Nil: as it is.
	Read func(column string, k Kind) string
	// Now is a query for the time at the database, in UTC. Empty: it has no
	// clock but that of the machine.
	Now string
	// InSubquery compares the left side with the rows of a query so that the
	// query runs once, first, and its rows are found by their index. Nil: "IN".
	InSubquery func(query string) string
	// DeleteLimit: DELETE takes ORDER BY and LIMIT.
	DeleteLimit bool
	// DeleteJoin: DELETE joins tables, and would read the whole table when it
	// had a subquery instead.
	DeleteJoin bool
	// OneWriter: the pool that writes has one connection, which callers get in
	// the order in which they came.
	OneWriter bool
	// LocalReads: a read waits for nothing but this process and its disk, and
	// needs no timeout.
	LocalReads bool
	// SkipLocked ends a SELECT that picks one row of a queue, such as
	// " FOR UPDATE SKIP LOCKED". Empty as above.
	SkipLocked string

	// EncodeTime and DecodeTime convert the time columns of the shared tables,
	// in UTC and with millisecond precision; neither sees an absent time. Nil:
	// the driver takes and returns a [time.Time].
	// Own tables hold milliseconds since 1970 in every database.
	EncodeTime func(time.Time) any
	DecodeTime func(any) (time.Time, error)
	// TimeExpr makes a time column comparable with an encoded time, when
	// other programs may have written it in another form. Nil: as it is.
	TimeExpr func(column string) string

	// Unique and ForeignKey report which constraint refused a write.
	Unique     func(error) bool
	ForeignKey func(error) bool
	// Retryable errors rolled a transaction back that may pass the next time.
	Retryable func(error) bool
	// Interrupted errors ended a connection, and with it what was not
	// committed. What may have been committed is not repeated. Nil: none.
	Interrupted func(error) bool
	// NoSuchID reports that a parameter cannot be an id of the column that it
	// was compared with, such as a word with a number. Nil: it never does.
	NoSuchID func(error) bool
	// NoSuchTable reports that a table or a column is missing. Nil: preparing the
	// statements finds that.
	NoSuchTable func(error) bool
}

// setDefaults is for a driver that speaks of times in [time.Time].
func (d *Dialect) setDefaults() {
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

// Rebind replaces each ? of text by the placeholder of the database.
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

// timeExpr is TimeExpr with its default.
func (d *Dialect) timeExpr(column string) string {
	if d.TimeExpr == nil {
		return column
	}
	return d.TimeExpr(column)
}

// Traits are what is particular about the shared tables at hand, which other
// programs may have made. The zero value fits those that authsvc makes.
type Traits struct {
	// GeneratedIDs has the tables, such as "User", whose ids are numbers that the
	// database makes; ids that the engine proposes are dropped.
	GeneratedIDs map[string]bool
	// UUIDs has the tables whose ids are UUIDs; proposed ids that are not are
	// replaced.
	UUIDs map[string]bool
	// NoIDs has the tables, Account or Session, without a column for the id.
	NoIDs map[string]bool
	// Timestamps has, by table, further columns of the database's own names that
	// must be given the time at which a row is made.
	Timestamps map[string][]string
	// TextTimes: the time columns hold ISO 8601 text.
	TextTimes bool
	// Folded has the columns, such as "User.email", whose text the database
	// compares without regard to case, accents or trailing blanks.
	Folded map[string]bool
	// NoCascade: accounts and sessions do not go with their user by themselves.
	NoCascade bool
	// Precision has the time columns, such as "Session.expires", that hold
	// less than milliseconds, with their precision. Times are cut to it, never
	// rounded up.
	Precision map[string]time.Duration
	// UserColumns are those of [Naming.UserColumns] that are there.
	UserColumns []UserColumn
	// NarrowExpiry: Account.expires_at ends in the year 2038.
	NarrowExpiry bool
}
