package pages

import "time"

// AddressView asks for a new address, or, with To, shows how far its change is.
type AddressView struct {
	CSRFToken string
	Fresh     string // of the form
	Email     string // now; empty: none
	Proved    bool   // Email was: it is asked, too
	Typed     string // what the field starts with
	Error     string // the word of why the last try came to nothing
	RequestID string

	To         string
	NewProved  bool
	OldAllowed bool
	Strong     bool      // Email need not be waited for
	NotBefore  time.Time // when the change can be made without a word of Email
	Due        bool      // it can be made
	Tries      int       // how many codes can still be tried
}

// Spent says whether no code can be tried any more.
func (v AddressView) Spent() bool { return v.Tries <= 0 }

// WrongCode says whether the code that was entered was not that of the mail.
func (v AddressView) WrongCode() bool { return v.Error == "Code" }

// Stages of AddressConfirmView.
const (
	AddressNew       = "new" // asks whoever reads mails to the new address
	AddressOld       = "old" // the same of the old one
	AddressSpent     = "spent"
	AddressTaken     = "taken"
	AddressProved    = "proved"
	AddressAllowed   = "allowed"
	AddressCompleted = "completed"
	AddressStopped   = "stopped"
)

// AddressConfirmView is where the links in mails about a change of address lead.
type AddressConfirmView struct {
	Stage     string
	CSRFToken string
	To        string
	ID, Token string
	Stop      bool // the link is the one that stops the change
}

// Asks says whether there is a form.
func (v AddressConfirmView) Asks() bool { return v.Stage == AddressNew || v.Stage == AddressOld }

// Old says whether it is the old address that is asked.
func (v AddressConfirmView) Old() bool { return v.Stage == AddressOld }

// Good says whether what was wished has come about.
func (v AddressConfirmView) Good() bool { return v.Stage != AddressSpent && v.Stage != AddressTaken }
