package authsvc

import (
	"context"
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
	// Blocked and DeleteAfter are copied from [Person], and are at least as recent as
	// Epoch. The methods that set Epoch set them too.
	Blocked     time.Time
	DeleteAfter time.Time
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

// An Adapter stores the records. It is a plain driver: it hashes nothing, reads no
// clock, judges no expiry and normalises no address. It enforces uniqueness, cascades
// and the atomic steps below, for all replicas that share its store. Package
// adaptertest tests every implementation.
//
// Times are written and read in UTC with millisecond precision. Unknown records are
// ErrNotFound, broken uniqueness is ErrConflict, and a write based on data that has
// changed meanwhile is ErrStale. Every other error means that the store failed. Methods
// must be safe for concurrent use and must obey the context.
//
// Every user has an epoch ([User].Epoch). Each Revocation about a user sets the user's
// epoch to the Seq of the Revocation. The first proof of an address, EndSessions,
// DeleteUser, UnlinkAccount, SetPerson and DeleteCredentials raise it in the same step
// that revokes access. ProveEmail, LinkAccount, UnlinkAccount, CreateSession,
// RefreshAccount and PutCredential write only while the epoch is the one that their
// caller read; the check and the write are one step. If a sign-in and a revocation
// overlap, either the sign-in comes first and the revocation undoes it, or the sign-in
// is stale. A method that returns a User must read the epoch before, or together with,
// the record by which it found the user; GetSession may leave it out.
//
// The engine proposes ids (UUIDv7); the id in the returned record counts. It may be
// empty for accounts and sessions, whose tables have no ids in some programs.
//
// A store may use tables that another program made, with narrower columns. Values that
// do not fit are errors, never truncated. Account.ExpiresAt is the exception: it is
// stored as the latest time that fits, since an early expiry does no harm.
type Adapter interface {
	Users
	People
	Accounts
	Sessions
	Links
	Coordination
	Meta
}

// Users stores the users and performs the steps that affect a user as a whole. See
// [Adapter].
type Users interface {
	// CreateUser stores u. ErrConflict: the address is taken.
	CreateUser(ctx context.Context, u User) (User, error)
	GetUser(ctx context.Context, id string) (User, error)
	GetUserByEmail(ctx context.Context, email string) (User, error)
	GetUserByAccount(ctx context.Context, provider, providerAccountID string) (User, error)
	// UpdateUser changes the named fields. ErrConflict: the address is taken. ErrStale:
	// the user no longer matches change.Was.
	UpdateUser(ctx context.Context, id string, change UserUpdate) (User, error)
	// DeleteUser removes the user with its accounts and sessions and writes r, in one
	// step.
	DeleteUser(ctx context.Context, id string, r *Revocation) error
	// GetEpoch returns the epoch of a user id, whether or not the user is stored; 0 if
	// no Revocation names it.
	GetEpoch(ctx context.Context, userID string) (int64, error)
	// ListUsers returns at most limit users in the store's own order of ids. It starts
	// with the user that follows the id `after`, or with the first user if after is "".
	// A page shorter than limit is the last.
	ListUsers(ctx context.Context, after string, limit int) ([]User, error)
	// SearchUsers is like ListUsers, for the users who meet all conditions of q. With a
	// Prefix, the users are in the store's own order of addresses, and an index finds
	// them.
	SearchUsers(ctx context.Context, q UserQuery) ([]User, error)
	// SignUp stores a new user with its first account and session, all or nothing;
	// account and session may each be nil. The locale, unless it is "", becomes that of
	// the user's Person. ErrConflict: the address, the identity or
	// the session token is taken, and nothing was written. On success the adapter sets
	// the UserID of account and session.
	SignUp(ctx context.Context, u User, a *Account, s *SessionRecord, locale string) (User, error)
	// ProveEmail applies p in one step. ErrStale: the user's address is no longer
	// p.Email, or its epoch no longer p.Epoch; nothing is changed. If the user's
	// EmailVerified was empty and p.Keep is not set, ProveEmail removes the user's
	// accounts, sessions, SecondStep, credentials except p.Pending, and the other links
	// and queued mails for p.Email; it writes p.Revoke and returns the removed
	// accounts. Otherwise it only sets EmailVerified. The returned user has its new
	// epoch.
	ProveEmail(ctx context.Context, p Proof) (User, []Account, error)
}

// Accounts stores the identities of users at providers. See [Adapter].
type Accounts interface {
	// LinkAccount stores a. ErrStale: epoch is no longer the epoch of the user
	// a.UserID, and nothing is stored. ErrConflict: the identity is already linked, to
	// this user or another. ErrNotFound: no such user.
	LinkAccount(ctx context.Context, a Account, epoch int64) (Account, error)
	// RefreshAccount replaces the token fields of the account that a's Provider and
	// ProviderAccountID name. Its owner and id stay. Its refresh token stays if a has
	// none: providers issue it once. ErrStale: epoch is no longer the epoch of the user
	// a.UserID. ErrNotFound: that user has no such account.
	RefreshAccount(ctx context.Context, a Account, epoch int64) error
	// ReplaceTokens replaces the token fields as RefreshAccount does, but regardless of
	// epoch and owner, and with exactly the tokens of a: a refresh token that a lacks
	// is removed. ErrStale: the stored account no longer has the tokens of was. All of
	// them are compared (Account.SameTokens), since not every provider issues a refresh
	// token.
	ReplaceTokens(ctx context.Context, a, was Account) error
	// UnlinkAccount removes an account of the user r.UserID and writes r, in one step.
	// ErrStale: epoch is no longer the user's epoch, for example because another
	// account was removed meanwhile. ErrNotFound: that user has no such account. After
	// either error nothing is removed and r is not written.
	UnlinkAccount(ctx context.Context, provider, providerAccountID string, epoch int64, r *Revocation) error
	// ListAccounts returns a user's accounts ordered by provider, then id, or
	// ProviderAccountID where accounts have no ids.
	ListAccounts(ctx context.Context, userID string) ([]Account, error)
}

// Sessions stores the sessions of strategy "database", and descriptions of the sessions
// of strategy "jwt". See [Adapter].
type Sessions interface {
	// CreateSession stores s, which must have a unique Digest. ErrStale: s.Epoch is no
	// longer the user's epoch, and nothing is stored. ErrNotFound: no such user.
	CreateSession(ctx context.Context, s SessionRecord) (SessionRecord, error)
	// GetSession returns a session, even an expired one, and its user. The Epoch,
	// SessionEpoch, Blocked and DeleteAfter of that user may be missing. The parameters
	// token and digest must be the SessionToken and the Digest of one session.
	// GetSession does not read Seen, and of SessionOrigin only AMR, SecondAt and Actor,
	// because it is called for nearly every request.
	GetSession(ctx context.Context, token, digest string) (SessionRecord, User, error)
	// UpdateSession sets Expires, Began, AuthTime and Provider of the session that
	// s.SessionToken names or, if that is empty, s.Digest. It never restores a deleted
	// session: ErrNotFound.
	UpdateSession(ctx context.Context, s SessionRecord) error
	// DeleteSession removes a session and returns the removed record; its Digest may be
	// empty.
	DeleteSession(ctx context.Context, token string) (SessionRecord, error)
	// DeleteSessionOf removes the user's session that digest identifies in authsvc's
	// own table, with or without a token, and returns the removed record. ErrNotFound:
	// the user has no such session.
	DeleteSessionOf(ctx context.Context, userID, digest string) (SessionRecord, error)
	// ListSessions returns a user's sessions, including expired ones, in any order.
	ListSessions(ctx context.Context, userID string) ([]SessionRecord, error)
	// TouchSessions sets Seen of sessions by their digests, never to an earlier time.
	// It skips unknown digests.
	TouchSessions(ctx context.Context, seen []SessionSeen) error
	// EndSessions removes all sessions and each CredentialPending of a user and writes
	// r, in one step. It returns the number of sessions removed. For an unknown user it
	// still writes r.
	EndSessions(ctx context.Context, userID string, r *Revocation) (int, error)
}

// Links stores emailed links and the queue of the mails that carry them. See
// [Adapter].
type Links interface {
	// PutToken stores a link's token and the mail that carries it in one step.
	// ErrQueueFull: maxQueued mails are waiting already. ErrConflict: the token is
	// taken. After either error nothing is stored.
	PutToken(ctx context.Context, t VerificationToken, m Mail, maxQueued int) error
	// PutMail stores a mail without a link. Its errors are the same as PutToken's.
	PutMail(ctx context.Context, m Mail, maxQueued int) error
	// GetToken returns the token, even an expired one, and changes nothing.
	GetToken(ctx context.Context, identifier, token string) (VerificationToken, error)
	// TakeToken deletes and returns the token, even an expired one, in one atomic step:
	// exactly one of any number of callers gets it.
	TakeToken(ctx context.Context, identifier, token string) (VerificationToken, error)
	// VoidTokens removes all tokens of an identifier and any queued mails that carry
	// them. It is separate from TakeToken, because TakeToken also takes expired tokens,
	// and using one of those must not void the others.
	VoidTokens(ctx context.Context, identifier string) error
	// ClaimMail returns the mail that has been due longest at now. In the same atomic
	// step it counts the attempt and makes the mail due again at retry, so that no
	// other worker claims it earlier. The returned record is as stored after the claim.
	// ErrNotFound: none is due.
	ClaimMail(ctx context.Context, now, retry time.Time) (Mail, error)
	// DelayMail makes a mail due at the given time.
	DelayMail(ctx context.Context, id string, due time.Time) error
	// DeleteMail removes a mail. Deleting an unknown mail is not an error.
	DeleteMail(ctx context.Context, id string) error
}

// Coordination stores the state that replicas share: single use, revocations, limits
// and leases. See [Adapter].
type Coordination interface {
	// UseOnce records key until expires. ErrConflict: key was used before. Exactly one
	// of any number of concurrent callers succeeds.
	UseOnce(ctx context.Context, key string, expires time.Time) error
	// Revoke writes revocations in one step, and sets Seq in each. If a record with the
	// same key exists, it keeps the later NotBefore and the later Expires, and gets the
	// new Seq.
	Revoke(ctx context.Context, list ...*Revocation) error
	// Revocations reads the log: about limit records written after a cursor (0: from
	// the beginning), in log order. limit is at least 1. next is the cursor for the
	// next call; if it equals after, there are no more records yet. A caller that
	// continues from next misses no record, even if the transaction that wrote it
	// commits late. It may get a record twice, and does not get records that were swept.
	Revocations(ctx context.Context, after int64, limit int) (list []Revocation, next int64, err error)
	// Permit counts an event against each quota of the list, whose keys differ, by the
	// generic cell rate algorithm and for all replicas. It takes them in their order and
	// stops at the first that refuses: the quotas before it are counted, and their
	// number is permitted; it and those after it are not. So all are counted if
	// permitted is the length of the list. Counting one quota is one atomic step. After
	// an error, any of them may be counted.
	//
	// A key stores the time up to which its events are paid for; an unknown or past time
	// counts as now. If that time is more than Burst ahead of now, the quota refuses, and
	// wait says how long until it would not. Otherwise counting adds Interval to the
	// time. An event that is not counted leaves the time unchanged, with one exception:
	// if the time of the quota that refuses is more than Burst plus Interval ahead, it
	// was written by a wrong clock or for a rate that no longer applies, and is set to
	// exactly that far ahead. So wait never exceeds Interval.
	Permit(ctx context.Context, now time.Time, list ...Quota) (permitted int, wait time.Duration, err error)
	// Lease gives the lease called name to holder until the given time, if that lease
	// is free, lapsed before now, or is already the holder's. ErrConflict: another
	// holder has it. Exactly one of any number of concurrent callers succeeds.
	Lease(ctx context.Context, name, holder string, now, until time.Time) error
	// Release gives up a lease. It is not an error if the holder has lost it.
	Release(ctx context.Context, name, holder string) error
}

// Meta stores values about the deployment, and maintains the store. See [Adapter].
type Meta interface {
	// GetMeta returns the value under key.
	GetMeta(ctx context.Context, key string) (string, error)
	// PutMeta stores a value under key unless there is one already, and returns the
	// stored value.
	PutMeta(ctx context.Context, key, value string) (string, error)
	// SetMeta replaces the value under key.
	SetMeta(ctx context.Context, key, value string) error
	// Sweep deletes at most limit records that expired before now (sessions, tokens,
	// mails, used keys, revocations, permits, leases, credentials) and returns the
	// number deleted.
	Sweep(ctx context.Context, now time.Time, limit int) (int, error)
	// Ping reports whether the store answers.
	Ping(ctx context.Context) error
}

// UserColumns is an Adapter that reads User.Extra.
type UserColumns interface {
	// UserColumns returns the names of the columns. Every Extra has all of them.
	UserColumns() []string
}

// A Clock is an Adapter with a clock of its own, which all replicas then use. An
// adapter without one serves programs on one machine only, or uses the clock of the
// single process that it lives in.
type Clock interface {
	// Now returns the time at the store, with at least millisecond precision.
	Now(ctx context.Context) (time.Time, error)
}
