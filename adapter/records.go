package adapter

import (
	"time"

	"authsvc/internal/text"
)

// A User is a person. Empty strings and zero times mean absent.
type User struct {
	ID            string    // primary identifier
	Name          string    // display name
	Email         string    // unique if present, stored in normalised form
	EmailVerified time.Time // when the address was proved, UTC, milliseconds; zero: never
	Image         string    // URL of a picture

	// Epoch is the Seq of the latest Revocation about the user, 0 if there is none.
	// Writes that grant access succeed only while it is unchanged; see Adapter.
	Epoch int64
	// Extra holds further columns of the application's own table that the adapter was
	// told to read (see UserColumns), by column name. Values are string, bool, int64,
	// float64, time.Time, []byte or nil; JSON is decoded, and exact numbers are text.
	// The engine never writes them.
	Extra map[string]any
	// SessionEpoch is the Seq of the Revocation with the Key "user:" followed by the
	// ID, which covers all sessions of the user; 0 if there is none. Sessions that
	// began at an earlier epoch have ended.
	SessionEpoch int64
	// Blocked, DeleteAfter and Locale are copied from [Person]. The methods that set Epoch
	// set them too. Blocked and DeleteAfter are at least as recent as Epoch.
	Blocked     time.Time
	DeleteAfter time.Time
	Locale      string
}

// An Account links a User to one identity at one provider. The pair
// (Provider, ProviderAccountID) is unique and compared byte for byte.
type Account struct {
	ID                string
	UserID            string
	Type              string // "oauth", "oidc" (compat authjs-v5) or "email"
	Provider          string // the provider's id in the configuration
	ProviderAccountID string // the person's id at the provider
	RefreshToken      string // long text: at least 64 KiB
	AccessToken       string // long text
	ExpiresAt         int64  // expiry of AccessToken, seconds since 1970; 0: absent
	TokenType         string
	Scope             string
	IDToken           string // long text
	SessionState      string
}

// SameTokens reports whether a and b have the same refresh, access and ID tokens, byte
// for byte.
func (a Account) SameTokens(b Account) bool {
	return text.Same(a.RefreshToken, b.RefreshToken) && text.Same(a.AccessToken, b.AccessToken) && text.Same(a.IDToken, b.IDToken)
}

// A SessionRecord is a stored session. SessionToken is the token as stored: a digest,
// unless another program shares the table. Digest identifies the record in authsvc's
// own table, which holds all fields except ID, SessionToken, UserID and Expires. A
// record written by another program has a zero Began.
//
// A record without SessionToken describes a session that lives in its cookie (strategy
// jwt). It exists only in authsvc's own table, has no ID, and serves only for lists:
// the log of revocations decides whether the session continues.
type SessionRecord struct {
	ID           string
	SessionToken string // unique; empty: strategy jwt
	Digest       string // base64url SHA-256 of the cookie's value; strategy jwt: the claim sid
	UserID       string
	Expires      time.Time // UTC, milliseconds
	Began        time.Time // time of the sign-in; zero: unknown
	AuthTime     time.Time // when the person proved their identity; zero: unknown
	Provider     string    // provider of the sign-in; empty: unknown
	// Epoch is the User.Epoch that the sign-in read. CreateSession stores the session
	// only while the user still has it; a store need not return it.
	Epoch int64
	// Claims holds the claims that SessionOptions.Claims kept at the sign-in: a JSON
	// object, at most 4 KiB; nil: none. CreateSession and SignUp store it, and nothing
	// changes it later.
	Claims []byte
	SessionOrigin
	Seen time.Time // approximate time of the last use; zero: none since it began; see TouchSessions
}

// A SessionOrigin describes how a session began, for lists of sessions. CreateSession
// and SignUp store it. Methods that return a list or a deleted session return it;
// GetSession returns only AMR, SecondAt and Actor. The engine reads the
// reserved fields, but does not set them yet.
type SessionOrigin struct {
	AMR      string    // authentication methods, RFC 8176, separated by spaces; at most 255 bytes
	SecondAt time.Time // reserved: when a second factor was proved in the session; zero: never
	Agent    string    // the User-Agent of the sign-in, at most 200 bytes
	Network  string    // address prefix of the client, such as 203.0.113.0/24
	Client   string    // reserved: the application that holds the session; empty: a browser
	Actor    string    // reserved: who acts as the user in the session; empty: the user
}

// A SessionSeen says when a session was used.
type SessionSeen struct {
	Digest string
	At     time.Time
}

// A VerificationToken is an outstanding email link. Token is a digest.
type VerificationToken struct {
	Identifier string // the address that the link was made for
	Token      string // unique; tables may have the unique key (Identifier, Token) instead
	Expires    time.Time
}

// A Mail is a message waiting in the queue. The engine seals Payload, so that neither
// the store nor its backup reveals the link inside.
type Mail struct {
	ID       string // the Token of its VerificationToken, or an id of its own
	Payload  []byte // at most 64 KiB
	Due      time.Time
	Expires  time.Time // when sending it is no longer useful
	Attempts int       // number of claims so far; 1 if the caller claims the mail as it stores it
}

// A Revocation revokes access before it expires. Key names what it covers. UserID is
// the user concerned, if it concerns one user. Seq is its position in the log of all
// revocations; from then on, it is also the user's epoch. The revocation covers all
// sessions that began at an earlier epoch, whatever the clocks say. It also covers
// tokens that record no epoch, because another program or an earlier version made
// them, if their sessions began at NotBefore or earlier.
type Revocation struct {
	Key    string
	UserID string // empty: no user's epoch is raised
	// Seq is set by the store. It is higher than the Seq of everything committed
	// before, and at least NotBefore in microseconds since 1970, so that a store
	// restored to an earlier state never issues a number twice.
	Seq       int64
	NotBefore time.Time
	Expires   time.Time // no token that it covers outlives this
}

// CoverUser makes r cover all sessions of a user, by its Key and UserID.
func (r *Revocation) CoverUser(id string) { r.Key, r.UserID = "user:"+id, id }

// A Quota is the rate limit of a key: one event an Interval on average, and more at once
// while they are paid for at most Burst ahead. See Permit of [Coordination].
type Quota struct {
	Key             string
	Interval, Burst time.Duration
}

// A UserUpdate names the fields of a User to change; nil leaves a field unchanged.
type UserUpdate struct {
	Name          *string
	Email         *string
	EmailVerified *time.Time
	Image         *string
	// Was, unless nil, is the user that the change is based on: nothing is changed
	// unless Epoch, Email and EmailVerified still match it.
	Was *User
}

// A Proof says that a person read mail sent to a user's address.
type Proof struct {
	UserID string
	Email  string      // the address that was proved; its other links are voided
	Epoch  int64       // the user's epoch, read before anything else about them
	At     time.Time   // becomes EmailVerified
	Keep   bool        // only set EmailVerified; keep accounts, sessions, links and credentials
	Revoke *Revocation // covers all sessions of the user; nil only with Keep
	// Pending is the id of the CredentialPending of the sign-in that proves the
	// address. That credential is kept. Empty: there is none.
	Pending string
}
