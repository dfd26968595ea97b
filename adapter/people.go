package adapter

import (
	"context"
	"time"
)

// A Person holds the data that authsvc keeps about a user in its own tables, beside the
// User, whose table may belong to another program. If nothing is stored about a user,
// the Person is zero except for UserID.
type Person struct {
	UserID       string
	Blocked      time.Time // when the user was blocked; zero: not blocked. A blocked user cannot sign in
	BlockedWhy   string    // for operators, at most 255 bytes
	DeleteAfter  time.Time // when to delete the user; zero: never
	SecondStep   bool      // reserved for second factors; always false
	RecoverAfter time.Time // reserved for second factors; always zero
	Locale       string    // locale of the last sign-in, BCP 47, at most 35 bytes

	Credentials []Credential // ordered by kind, then id
}

// A PersonUpdate names the fields of a Person to change; nil leaves a field unchanged.
type PersonUpdate struct {
	Blocked      *time.Time
	BlockedWhy   *string
	DeleteAfter  *time.Time
	SecondStep   *bool
	RecoverAfter *time.Time
	Locale       *string
}

// A CredentialKind is the kind of a Credential.
type CredentialKind string

// The kinds of credentials. Each kind has its own ids, of at most 64 bytes. The engine
// stores no credentials of the reserved kinds yet, nor of "totp" and "recovery", which are
// reserved for a second factor.
const (
	CredentialPasskey  CredentialKind = "passkey"        // reserved
	CredentialPassword CredentialKind = "password"       // reserved
	CredentialDevice   CredentialKind = "device"         // reserved: a browser that skips the second step
	CredentialPending  CredentialKind = "pending"        // a sign-in in progress
	CredentialAddress  CredentialKind = "address"        // a pending change of address
	CredentialUndo     CredentialKind = "undo"           // a change that a mailed link undoes
	CredentialToken    CredentialKind = "personal_token" // id: the token's SHA-256
)

// A Credential is a public key, a secret or a pending request of a user. It is stored
// and looked up under its Kind and ID.
type Credential struct {
	Kind    CredentialKind
	ID      string // unique within its kind
	UserID  string
	Name    string    // chosen by the user, at most 64 characters
	Data    []byte    // at most 64 KiB, sealed by the engine; nil: nothing
	Version int64     // starts at 1; each change adds 1
	Tries   int       // number of attempts to match it; see TryCredential
	Created time.Time // UTC, milliseconds, like all times here
	Used    time.Time // zero: never
	Expires time.Time // zero: never
}

// A UserQuery selects the users that SearchUsers returns. A zero field is not a
// condition.
type UserQuery struct {
	Prefix  string    // start of the address, byte for byte
	Blocked bool      // only blocked users
	Due     time.Time // only users whose DeleteAfter is this or earlier
	// After is the id that the page starts after or, with a Prefix, the address. "": the
	// page starts at the first user.
	After string
	Limit int // size of the page
}

// Next returns the value of After for the page after the one that ends with u.
func (q UserQuery) Next(u User) string {
	if q.Prefix != "" {
		return u.Email
	}
	return u.ID
}

// People stores the data that authsvc keeps about users in its own tables: whether they
// may sign in, and their credentials. Deleting a user deletes both. See [Adapter].
type People interface {
	// GetPerson returns a user's Person. ErrNotFound: no such user.
	GetPerson(ctx context.Context, userID string) (Person, error)
	// SetPerson changes the named fields. Unless r is nil, it also writes r and ends
	// the user's sessions, in the same step. ErrNotFound: no such user; r is not
	// written.
	SetPerson(ctx context.Context, userID string, change PersonUpdate, r *Revocation) error
	// PutCredential stores c and sets its Version to 1. ErrStale: epoch is no longer
	// the user's epoch. ErrTooMany: the user already has the maximum number of
	// credentials of that kind, which the parameter most gives; expired ones count.
	// ErrConflict: kind and id are taken. ErrNotFound: no such user. After any error
	// nothing is stored.
	PutCredential(ctx context.Context, c Credential, epoch int64, most int) error
	// GetCredential returns a credential, even an expired one.
	GetCredential(ctx context.Context, kind CredentialKind, id string) (Credential, error)
	// UpdateCredential sets Name, Data, Tries, Used and Expires of the credential
	// identified by c's Kind, ID and UserID. ErrStale: its Version is not c.Version,
	// and nothing is changed. ErrNotFound: that user has no such credential.
	UpdateCredential(ctx context.Context, c Credential) error
	// TryCredential adds 1 to Tries in one atomic step if Tries is less than the
	// parameter most; otherwise it returns ErrConflict. It also adds 1 to Version:
	// copies read earlier become stale.
	TryCredential(ctx context.Context, kind CredentialKind, id string, most int) error
	// DeleteCredential removes a credential of a user and, unless r is nil, writes r,
	// in one step. Exactly one of any number of callers succeeds. ErrNotFound: that
	// user has no such credential; r is not written.
	DeleteCredential(ctx context.Context, kind CredentialKind, id, userID string, r *Revocation) error
	// DeleteCredentials removes all credentials of the given kinds of a user and,
	// unless r is nil, writes r, in one step. It returns the number removed. For an
	// unknown user it still writes r.
	DeleteCredentials(ctx context.Context, userID string, r *Revocation, kinds ...CredentialKind) (int, error)
}
