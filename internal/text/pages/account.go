package pages

import (
	"slices"
	"strconv"
	"time"
)

// AccountView fills the account page. Its lists are in the order in which they
// are shown.
type AccountView struct {
	CSRFToken   string
	CallbackURL string // this page
	Fresh       string // of the form that removes ways to sign in
	FreshLink   string // of the form that adds one
	Name        string
	Who         string // address or name; never empty
	Email       string
	Unproved    bool   // the address was never proved
	Picture     string // https address of the person's; see Policy
	Edits       bool   // the name can be changed
	Typed       string // what its field starts with
	NewAddress  string // that is to take the place of Email; empty: none is
	Readdresses bool   // the address can be changed
	Identities  []Identity
	Mail        string // name of the provider that mails links to Email; empty: none does
	Add         []Provider
	SignOutPage string // the application's own page for signing out, if it has one
	Sessions    []SessionRow
	Listed      bool // there is a list of sessions
	Unlisted    bool // there may be sessions that the list does not have
	Export      bool
	Delete      bool      // the account can be deleted
	Deletion    time.Time // when it will be; zero: never
	Entries     []Entry
	Done, Error string // what was done, or the word of why not; at most one is set
	RequestID   string
}

// An Entry leads from the account page to a page of another feature. Its texts have
// the keys Key.heading, Key.hint and Key.open.
type Entry struct {
	Href string
	Key  string
}

// An Identity is a linked account at a provider.
type Identity struct {
	ID        string
	Provider  string // its id
	Name      string
	Style     Style
	Removable bool
}

// A SessionRow is one session of a person.
type SessionRow struct {
	Place    string // of the network, if it is known
	ID       string
	Current  bool
	Device   string // such as "Firefox on Linux"; empty: unknown
	Network  string
	Provider string        // name of the one that it began by
	Used     time.Time     // when it was last used
	Ago      time.Duration // since then
}

// shortList is how many rows of a list are shown at first, so that the page
// fits a laptop's screen.
const shortList = 4

// First are the identities that are shown at first, More those behind them.
func (v AccountView) First() []Identity { return head(v.Identities) }

// More are the identities that are not in First.
func (v AccountView) More() []Identity { return v.Identities[len(head(v.Identities)):] }

// FirstSessions are the sessions that are shown at first.
func (v AccountView) FirstSessions() []SessionRow { return head(v.Sessions) }

// MoreSessions are the sessions that are not in FirstSessions.
func (v AccountView) MoreSessions() []SessionRow { return v.Sessions[len(head(v.Sessions)):] }

// head is the short form of a list. One row is never hidden alone.
func head[T any](list []T) []T {
	if len(list) <= shortList+1 {
		return list
	}
	return list[:shortList]
}

// Others says whether the person is signed in elsewhere, too.
func (v AccountView) Others() bool {
	return slices.ContainsFunc(v.Sessions, func(s SessionRow) bool { return !s.Current })
}

// OnlyWay says whether there is one way to sign in, which cannot be removed.
func (v AccountView) OnlyWay() bool {
	return len(v.Identities) == 1 && !v.Identities[0].Removable
}

// dones are what an account page reports as done; other words are somebody's.
var dones = []string{"renamed", "unlinked", "ended", "others", "confirmed", "kept", "address", "unchanged"}

// DoneKey is the key of the text about what was done, "" for other words.
func (v AccountView) DoneKey() string {
	if slices.Contains(dones, v.Done) {
		return "account.done." + v.Done
	}
	return ""
}

// StepUpView asks a person who is signed in to prove it once more.
type StepUpView struct {
	CSRFToken   string
	CallbackURL string
	Who         string // name or address of the person
	Email       string // where a link goes
	Ways        []Provider
	Error       string
	Reason      string // adds to Error: cancelled, unavailable, stale
	Provider    string // the name of the one that Reason is about
	RequestID   string
}

// Cancelled says whether the person turned back at the provider.
func (v StepUpView) Cancelled() bool { return v.Error == "AccessDenied" && v.Reason == "cancelled" }

// HasPassword says whether a form asks for one.
func (v StepUpView) HasPassword() bool { return SignInView{Providers: v.Ways}.HasPassword() }

// DeleteView asks for the deletion of an account to be confirmed, or says that it
// was done.
type DeleteView struct {
	CSRFToken string
	Fresh     string
	Who       string    // address, name or id of the person
	Word      string    // what has to be typed
	Typed     string    // what its field starts with
	On        time.Time // when the account is deleted; zero: at once, or, once Done, not known
	Error     string
	RequestID string
	Done      string // scheduled or deleted
}

// KeepView asks whether an account that is to be deleted is to be kept.
type KeepView struct {
	CSRFToken string
	Who       string
	On        time.Time // when it is deleted
	Kept      bool      // it was: the rest is empty
	SignInURL string
	Error     string
	RequestID string
}

// Date is a day in words, that of UTC.
func (w words) Date(t time.Time) (string, error) {
	t = t.UTC()
	month, err := w.T("month." + strconv.Itoa(int(t.Month())))
	if err != nil {
		return "", err
	}
	return w.T("date", t.Day(), month, t.Year())
}

// Ago is how long ago something was, in words.
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
