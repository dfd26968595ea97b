package authsvc

import (
	"time"

	"authsvc/adapter"
	"authsvc/internal/text/emailaddr"
)

// A User is a person: ID, Name, Email, EmailVerified (when the address was proved), Image,
// Extra (columns of your own table), Blocked, DeleteAfter and Locale (of the last sign-in).
// [adapter.User] describes each field.
type User = adapter.User

// An Account links a User to one identity at one provider, Provider and
// ProviderAccountID, and holds the provider's tokens. [adapter.Account] describes each
// field.
type Account = adapter.Account

// A UserUpdate names the fields of a User to change; nil leaves a field unchanged.
type UserUpdate = adapter.UserUpdate

// A PersonView holds the contents of a user's account page, for your own pages.
type PersonView struct {
	User      User
	Accounts  []PersonAccount  // linked accounts, at most 50
	Sessions  []SessionView    // sessions that have not ended, most recently used first, at most 100
	Providers []PersonProvider // providers that can be added as a way to sign in
	// EmailChange is the pending change of address, nil if there is none. A scheduled
	// deletion is in User.DeleteAfter.
	EmailChange *EmailChange
}

// An EmailChange is a pending change of a user's address.
type EmailChange struct {
	ID        string    // the id for POST account/email/confirm
	Address   string    // the new address
	NewProved bool      // the new address is confirmed
	OldProved bool      // the old address allowed the change
	NotBefore time.Time // when the change can be made without permission of the old address
}

// A PersonAccount is a linked identity, without its id at the provider and its tokens:
// see [authsvc/engine.Service.Accounts].
type PersonAccount struct {
	ID        string // the id for POST account/unlink
	Provider  string // the provider's id
	Name      string // the provider's display name
	Removable bool   // false for the last way to sign in
}

// A PersonProvider is a provider with its id and its display name.
type PersonProvider struct{ ID, Name string }

// NormaliseEmail returns an email address in the form in which users are stored and
// looked up: NFKC, trimmed, lower case. The error says why the address cannot be used.
// Other programs that write users must store this form.
func NormaliseEmail(address string) (string, error) { return emailaddr.Normalise(address) }

// An Invitation invites a person to become a user, or a user to sign in for the first
// time.
type Invitation struct {
	Email    string // the recipient
	Name     string // name of the new user, or empty; ignored if the user exists
	Language string // language of the mail, BCP 47; empty: the user's language, else English
}
