package sqladapter

import "time"

// Traits are what is particular about the shared tables at hand, which other
// programs may have made. The zero value fits those that authsvc makes.
type Traits struct {
	// MadeIDs has the tables, such as "User", whose ids are numbers that the
	// database makes; ids that the engine proposes are dropped.
	MadeIDs map[string]bool
	// UUIDs has the tables whose ids are UUIDs; proposals that are none are
	// replaced.
	UUIDs map[string]bool
	// NoIDs has the tables, Account or Session, without a column for the id.
	NoIDs map[string]bool
	// Stamps has, by table, further columns of the database's own names that
	// must be given the time at which a row is made.
	Stamps map[string][]string
	// TextTimes: the time columns hold ISO 8601 text.
	TextTimes bool
	// Folded has the columns, such as "User.email", whose text the database
	// compares without regard to case, accents or trailing blanks.
	Folded map[string]bool
	// Orphans: accounts and sessions do not go with their user by themselves.
	Orphans bool
	// Precision has the time columns, such as "Session.expires", that hold
	// less than milliseconds, with their precision. Times are cut to it, never
	// rounded up.
	Precision map[string]time.Duration
	// NarrowExpiry: Account.expires_at ends in the year 2038.
	NarrowExpiry bool
}
