package pages

import "time"

// AddressView asks for a new address. If To is set, it shows the state of its change.
type AddressView struct {
	CSRFToken string
	Fresh     string // proof of a fresh sign-in, for the form
	Email     string // current address; empty: none
	Proved    bool   // Email is verified, so it is asked too
	Typed     string // initial value of the field
	Error     string // the word for the error of the last try
	RequestID string

	To         string
	NewProved  bool
	OldAllowed bool
	Strong     bool      // the change need not wait for Email
	NotBefore  time.Time // when the change can be made without an answer from Email
	Due        bool      // the change can be made
	Tries      int       // number of codes that can still be tried
}

// Spent reports whether no tries remain for a code.
func (v AddressView) Spent() bool { return v.Tries <= 0 }

// WrongCode reports whether the person entered a wrong code.
func (v AddressView) WrongCode() bool { return v.Error == "Code" }

// Stages of AddressConfirmView.
const (
	AddressNew       = "new" // asks the reader of mail to the new address
	AddressOld       = "old" // asks the reader of mail to the old address
	AddressSpent     = "spent"
	AddressTaken     = "taken"
	AddressProved    = "proved"
	AddressAllowed   = "allowed"
	AddressCompleted = "completed"
	AddressStopped   = "stopped"
)

// AddressConfirmView is the page that the links in mails about a change of address
// open.
type AddressConfirmView struct {
	Stage     string
	CSRFToken string
	To        string
	ID, Token string
	Stop      bool   // the link stops the change
	StopOnly  bool   // the link can no longer allow the change
	Error     string // the word for the error of the last try
	RequestID string
}

// Asks reports whether the page has a form.
func (v AddressConfirmView) Asks() bool { return v.Stage == AddressNew || v.Stage == AddressOld }

// Old reports whether the page asks the old address.
func (v AddressConfirmView) Old() bool { return v.Stage == AddressOld }

// Good reports whether the request succeeded.
func (v AddressConfirmView) Good() bool { return v.Stage != AddressSpent && v.Stage != AddressTaken }
