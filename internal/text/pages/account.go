package pages

import (
	"slices"
	"time"
)

// AccountView fills the account page. The page shows its lists in their order.
type AccountView struct {
	CSRFToken   string
	CallbackURL string // URL of this page
	Fresh       string // proof of a fresh sign-in, for the form that removes ways to sign in
	FreshLink   string // the same for the form that adds one
	Name        string
	Who         string // address or name; never empty
	Email       string
	Unproved    bool   // the address was never verified
	Picture     string // https URL of the person's picture; see Policy
	Edits       bool   // the name can be changed
	Typed       string // initial value of the name field
	NewAddress  string // pending replacement of Email; empty: none
	Readdresses bool   // the address can be changed
	Identities  []Identity
	Mail        string // name of the provider that mails links to Email; empty: none
	Add         []Provider
	SignOutPage string // the application's own sign-out page, if it has one
	Sessions    []SessionRow
	Listed      bool // the list of sessions is available
	Unlisted    bool // there may be sessions that the list does not have
	Export      bool
	Delete      bool      // the account can be deleted
	Deletion    time.Time // time of the scheduled deletion; zero: none
	Entries     []Entry
	Done, Error string // the action that was done, or the word for its error; at most one is set
	RequestID   string
}

// An Entry is a link from the account page to the page of another feature. Its texts
// have the keys Key.heading, Key.hint and Key.open.
type Entry struct {
	Href string
	Key  string
}

// An Identity is a linked account at a provider.
type Identity struct {
	ID        string
	Provider  string // id of the provider
	Name      string
	Style     Style
	Removable bool
}

// A SessionRow is one session of a person.
type SessionRow struct {
	Place    string // location of the network, if known
	ID       string
	Current  bool
	Agent    string // User-Agent header of the browser
	Network  string
	Provider string        // name of the provider that began the session
	Used     time.Time     // time of the last use
	Ago      time.Duration // time since the last use
}

// shortList is the number of rows that a list shows at first, so that the page fits a
// laptop's screen.
const shortList = 4

// First returns the identities that the page shows at first.
func (v AccountView) First() []Identity { return head(v.Identities) }

// More returns the identities that are not in First.
func (v AccountView) More() []Identity { return v.Identities[len(head(v.Identities)):] }

// FirstSessions returns the sessions that the page shows at first.
func (v AccountView) FirstSessions() []SessionRow { return head(v.Sessions) }

// MoreSessions returns the sessions that are not in FirstSessions.
func (v AccountView) MoreSessions() []SessionRow { return v.Sessions[len(head(v.Sessions)):] }

// head returns the short form of a list. It never hides a single row.
func head[T any](list []T) []T {
	if len(list) <= shortList+1 {
		return list
	}
	return list[:shortList]
}

// Others reports whether the person is also signed in elsewhere.
func (v AccountView) Others() bool {
	return slices.ContainsFunc(v.Sessions, func(s SessionRow) bool { return !s.Current })
}

// OnlyWay reports whether there is only one way to sign in, which cannot be removed.
func (v AccountView) OnlyWay() bool {
	return len(v.Identities) == 1 && !v.Identities[0].Removable
}

// dones lists the actions that the account page reports as done. Other words did not
// come from the engine.
var dones = []string{"renamed", "linked", "unlinked", "export", "ended", "others", "confirmed", "kept", "address", "unchanged"}

// DoneKey returns the key of the text about the action that was done, or "" for other
// words.
func (v AccountView) DoneKey() string {
	if slices.Contains(dones, v.Done) {
		return "account.done." + v.Done
	}
	return ""
}

// Ago returns a past duration in words.
func (w words) Ago(d time.Duration) (string, error) {
	const day = 24 * time.Hour
	switch {
	case d < 2*time.Minute:
		return w.T("ago.now")
	case d < time.Hour:
		return w.count("ago.minutes", int(d/time.Minute))
	case d < day:
		return w.count("ago.hours", int(d/time.Hour))
	case d < 60*day:
		return w.count("ago.days", int(d/day))
	}
	return w.count("ago.months", int(d/(30*day)))
}
