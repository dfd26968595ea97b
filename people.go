package authsvc

import "authsvc/internal/text/emailaddr"

// A PersonView is what the account page shows of a user, for pages of your own.
type PersonView struct {
	User      User
	Accounts  []PersonAccount  // linked, at most 50
	Sessions  []SessionView    // that have not ended, the latest used first, at most 100
	Providers []PersonProvider // by which a way to sign in can be added
}

// A PersonAccount is a linked identity. Its id at the provider and its tokens are not
// in it: see [authsvc/engine.Service.Accounts].
type PersonAccount struct {
	ID        string // names it to POST account/unlink
	Provider  string // the provider's id
	Name      string // of the provider, for people
	Removable bool   // it is not the last way to sign in
}

// A PersonProvider is a provider by its id and its name for people.
type PersonProvider struct{ ID, Name string }

// NormaliseEmail returns an e-mail address in the form in which users are
// stored and looked up: NFKC, trimmed, lower case. The error says why the
// address cannot be used. Other programs that write users have to store this
// form.
func NormaliseEmail(address string) (string, error) { return emailaddr.Normalise(address) }

// An Invitation is to become a user, or to sign in for the first time.
type Invitation struct {
	Email    string // where to
	Name     string // of somebody who is no user yet; may be empty
	Language string // of the mail, BCP 47; empty: that of the user, or the first one
}
