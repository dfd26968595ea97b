package authsvc

import (
	"context"
	"time"
)

// A Person is what authsvc keeps of a user in its own tables, beside the User,
// whose table may be another program's. A user of whom nothing is kept has the
// zero Person, but for UserID.
type Person struct {
	UserID       string
	Blocked      time.Time // when the user was blocked; zero: is not. A blocked user cannot sign in
	BlockedWhy   string    // for operators, at most 255 bytes
	DeleteAfter  time.Time // when the user is to be deleted; zero: never
	SecondStep   bool      // a second factor is asked for at each sign-in
	RecoverAfter time.Time // when the second step may be taken off; zero: nobody asked
	Locale       string    // of the last sign-in, BCP 47, at most 35 bytes

	Credentials []Credential // ordered by kind, then id
}

// A PersonUpdate names the fields of a Person to change; nil leaves one alone.
type PersonUpdate struct {
	Blocked      *time.Time
	BlockedWhy   *string
	DeleteAfter  *time.Time
	SecondStep   *bool
	RecoverAfter *time.Time
	Locale       *string
}

// A CredentialKind says what a Credential is.
type CredentialKind string

// The kinds of credentials. Each has ids of its own, of at most 64 bytes.
const (
	CredentialPasskey  CredentialKind = "passkey"
	CredentialPassword CredentialKind = "password"
	CredentialTOTP     CredentialKind = "totp"
	CredentialRecovery CredentialKind = "recovery"
	CredentialDevice   CredentialKind = "device"         // a browser that is not asked for the second step
	CredentialPending  CredentialKind = "pending"        // a sign-in that waits
	CredentialAddress  CredentialKind = "address"        // a change of address that waits
	CredentialUndo     CredentialKind = "undo"           // what a mailed link undoes
	CredentialToken    CredentialKind = "personal_token" // id: the token's SHA-256
)

// A Credential is something of a user that is looked up by a key of its own: a
// key, a secret or a request that waits.
type Credential struct {
	Kind    CredentialKind
	ID      string // unique within its kind
	UserID  string
	Name    string    // that the user gave it, at most 64 characters
	Data    []byte    // at most 64 KiB, sealed by the engine; nil: nothing
	Version int64     // 1 at first; each change counts it up
	Tries   int       // how often something was compared with it; see TryCredential
	Created time.Time // UTC, milliseconds, as all times here
	Used    time.Time // zero: never
	Expires time.Time // zero: never
}

// A UserQuery says which users SearchUsers returns. A zero field is no
// condition.
type UserQuery struct {
	Prefix  string    // how the address begins, byte for byte
	Blocked bool      // only who is blocked
	Due     time.Time // only whose DeleteAfter is this or earlier
	After   string    // the page starts after this id; "": at the first
	Limit   int       // of the page
}

// People are what authsvc keeps of users in its own tables: whether they may
// come in, and their credentials, which go with the user. See [Adapter].
type People interface {
	// GetPerson returns a user's Person. ErrNotFound: no such user.
	GetPerson(ctx context.Context, userID string) (Person, error)
	// SetPerson changes the named fields and, unless r is nil, writes r and ends the
	// user's sessions, in one step. ErrNotFound: no such user; r is not written.
	SetPerson(ctx context.Context, userID string, change PersonUpdate, r *Revocation) error
	// PutCredential stores c, whose Version becomes 1. ErrStale: epoch is no
	// longer that of the user. ErrTooMany: the user has most of that kind
	// already, expired ones too. ErrConflict: kind and id are taken.
	// ErrNotFound: no such user. In all cases nothing is stored.
	PutCredential(ctx context.Context, c Credential, epoch int64, most int) error
	// GetCredential returns a credential, even an expired one.
	GetCredential(ctx context.Context, kind CredentialKind, id string) (Credential, error)
	// UpdateCredential sets Name, Data, Tries, Used and Expires of the credential
	// that c's Kind, ID and UserID name. ErrStale: its Version is not c.Version,
	// and nothing is changed. ErrNotFound: that user has no such credential.
	UpdateCredential(ctx context.Context, c Credential) error
	// TryCredential counts Tries up in one atomic step if it is below most, else
	// ErrConflict. It counts Version up, too: what was read before is stale.
	TryCredential(ctx context.Context, kind CredentialKind, id string, most int) error
	// DeleteCredential removes a credential of a user and, unless r is nil,
	// writes r, in one step. Of any number of callers exactly one succeeds;
	// ErrNotFound: that user has no such credential; r is not written.
	DeleteCredential(ctx context.Context, kind CredentialKind, id, userID string, r *Revocation) error
	// DeleteCredentials removes all credentials of some kinds of a user,
	// returning how many, and writes r unless it is nil, in one step. An unknown
	// user has none; r is written even so.
	DeleteCredentials(ctx context.Context, userID string, r *Revocation, kinds ...CredentialKind) (int, error)
}
