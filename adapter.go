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
	Email         string    // unique when present, stored in normalised form
	EmailVerified time.Time // when the address was proved, UTC, milliseconds; zero: never
	Image         string    // URL of a picture

	// Epoch is the Seq of the latest Revocation about the user, 0 without one.
	// What grants access is stored only while it is unchanged; see Adapter.
	Epoch int64
	// Extra are further columns of the application's own table, which the adapter
	// was told to read (see UserColumns): by their names, and as they are there:
	// string, bool, int64, float64, time.Time, []byte, what is in JSON decoded,
	// exact numbers as text, and nil. The engine never writes them.
	Extra map[string]any
	// SessionEpoch is the Seq of the Revocation whose Key is "user:" and the
	// ID, which is of all sessions of the user, 0 without one: sessions that
	// began at an earlier epoch have ended.
	SessionEpoch int64
	// Blocked and DeleteAfter are those of [Person], as they were at Epoch or later.
	// The methods that set them are those that set Epoch.
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
	ExpiresAt         int64  // of AccessToken, seconds since 1970; 0: absent
	TokenType         string
	Scope             string
	IDToken           string // long text
	SessionState      string
}

// SameTokens reports whether two accounts have the same refresh, access and ID
// token, byte for byte.
func (a Account) SameTokens(b Account) bool {
	return text.Same(a.RefreshToken, b.RefreshToken) && text.Same(a.AccessToken, b.AccessToken) && text.Same(a.IDToken, b.IDToken)
}

// A SessionRecord is a stored session. SessionToken is what the engine asks to
// store, a digest unless another program shares the table; Digest identifies
// the record in authsvc's own table, where all but ID, SessionToken, UserID and
// Expires lives. A record that another program wrote has a zero Began.
//
// A record without SessionToken is that of a session which lives in its cookie
// (strategy jwt). It is only in authsvc's own table, has no ID, and is there to
// be listed: whether the session goes on is for the log of revocations to say.
type SessionRecord struct {
	ID           string
	SessionToken string // unique; empty: of strategy jwt
	Digest       string // base64url SHA-256 of the cookie's value; of strategy jwt the claim sid
	UserID       string
	Expires      time.Time // UTC, milliseconds
	Began        time.Time // the sign-in; zero: unknown
	AuthTime     time.Time // when the person proved who they are; zero: unknown
	Provider     string    // by which provider; empty: unknown
	// Epoch is the User.Epoch that the sign-in read. CreateSession stores the
	// session only while that is the user's; a store need not return it.
	Epoch int64
	// Claims is what SessionOptions.Claims kept at the sign-in: a JSON object, at
	// most 4 KiB; nil: nothing. CreateSession and SignUp store it, nothing changes
	// it.
	Claims []byte
	SessionOrigin
	Seen time.Time // when it was last used, about; zero: never since it began; see TouchSessions
}

// A SessionOrigin is how a session began, for whoever looks at a list of
// sessions. CreateSession and SignUp store it, and the methods that return a
// list or a deleted session return it; of it GetSession returns AMR alone.
type SessionOrigin struct {
	AMR      string    // how the person proved who they are: RFC 8176, separated by spaces; at most 255 bytes
	SecondAt time.Time // when a second factor was proved in it; zero: never
	Agent    string    // the User-Agent of the sign-in, at most 200 bytes
	Network  string    // where it came from: an address prefix, such as 203.0.113.0/24
	Client   string    // the application that holds it; empty: a browser
	Actor    string    // who acts as the user in it; empty: the user
}

// A SessionSeen says when a session was used.
type SessionSeen struct {
	Digest string
	At     time.Time
}

// A VerificationToken is an outstanding e-mail link. Token is a digest.
type VerificationToken struct {
	Identifier string // the address that the link was made for
	Token      string // unique, and (Identifier, Token) is unique
	Expires    time.Time
}

// A Mail waits in the queue. Payload is sealed by the engine; a store or its
// backup does not reveal the link inside.
type Mail struct {
	ID       string // the Token of the VerificationToken that it carries, or of its own
	Payload  []byte // at most 64 KiB
	Due      time.Time
	Expires  time.Time // not worth sending after this
	Attempts int       // how often it was claimed
}

// A Revocation takes access back before it expires. Key names what it covers,
// UserID whom it is about, if that is one user. Seq is its place in the log of
// all revocations and the user's epoch from then on: a session that began at
// an earlier epoch is covered, whatever the clocks say. NotBefore judges only
// tokens that note no epoch, because another program or an earlier version
// made them: they are covered unless they began after it.
type Revocation struct {
	Key    string
	UserID string // empty: no user's epoch is raised
	// Seq is set by the store: higher than that of everything committed
	// before, and at least NotBefore in microseconds since 1970, so that a
	// store which was put back to an earlier state gives no number twice.
	Seq       int64
	NotBefore time.Time
	Expires   time.Time // no token that it covers outlives this
}

// A UserUpdate names the fields of a User to change; nil leaves one alone.
type UserUpdate struct {
	Name          *string
	Email         *string
	EmailVerified *time.Time
	Image         *string
	// Was, unless nil, is the user as the change rests on it: nothing is changed
	// unless Epoch, Email and EmailVerified are still these.
	Was *User
}

// A Proof says that a person read mail sent to a user's address.
type Proof struct {
	UserID string
	Email  string      // the address that was proved; its other links are voided
	Epoch  int64       // of the user, as read before anything was asked about them
	At     time.Time   // becomes EmailVerified
	Keep   bool        // only set EmailVerified: accounts, sessions, links and credentials stay
	Revoke *Revocation // of all sessions of the user; nil only with Keep
	// Pending is the id of the CredentialPending of the sign-in that proves the
	// address, which stays; empty: none does.
	Pending string
}

// An Adapter keeps the records. It is a dumb driver: it hashes nothing, reads
// no clock, judges no expiry and normalises no address; it enforces
// uniqueness, cascades and the all-or-nothing steps below, for all replicas
// that share its store. Package adaptertest judges every implementation.
//
// Times are written and read in UTC with millisecond precision. Unknown
// records are ErrNotFound, broken uniqueness is ErrConflict, a write that rests
// on what has changed meanwhile is ErrStale; every other error means that the
// store failed. Methods are safe for concurrent use and obey the context.
//
// Every user has an epoch ([User].Epoch), which each Revocation about the user
// raises to its Seq. The first proof of an address, EndSessions, DeleteUser,
// UnlinkAccount, SetPerson and DeleteCredentials raise it in the very step that
// takes access back, and ProveEmail, LinkAccount, UnlinkAccount, CreateSession, RefreshAccount
// and PutCredential write only while it is the one that their caller read, in
// one step with the write. So of a sign-in
// and a revocation that overlap, the sign-in either was first, and is undone by
// the revocation, or finds that it is stale. The methods that return a User read
// its epoch no later than what they found the user by.
//
// The engine proposes ids (UUIDv7); the id in the returned record counts. It
// may be empty for accounts and sessions, whose tables have none in some
// programs.
//
// A store may use tables that another program made, with narrower columns.
// What does not fit is then an error and never cut, but for Account.ExpiresAt,
// which is stored as the latest that fits: too early is safe.
type Adapter interface {
	Users
	People
	Accounts
	Sessions
	Links
	Coordination
	Meta
}

// Users are the people, and the steps that concern one as a whole. See
// [Adapter].
type Users interface {
	// CreateUser stores u. ErrConflict: the address is taken.
	CreateUser(ctx context.Context, u User) (User, error)
	GetUser(ctx context.Context, id string) (User, error)
	GetUserByEmail(ctx context.Context, email string) (User, error)
	GetUserByAccount(ctx context.Context, provider, providerAccountID string) (User, error)
	// UpdateUser changes the named fields. ErrConflict: the address is taken.
	// ErrStale: the user is not as change.Was any more.
	UpdateUser(ctx context.Context, id string, change UserUpdate) (User, error)
	// DeleteUser removes the user and, with it, its accounts and sessions, and
	// writes r, in one step.
	DeleteUser(ctx context.Context, id string, r *Revocation) error
	// GetEpoch returns the epoch of a user id, which need not be that of a stored
	// user; 0 if there is no Revocation with it.
	GetEpoch(ctx context.Context, userID string) (int64, error)
	// ListUsers returns at most limit users, in the store's own order of ids,
	// starting after the id after, or at the first for "". A page shorter than
	// limit is the last.
	ListUsers(ctx context.Context, after string, limit int) ([]User, error)
	// SearchUsers is ListUsers for users who meet all of the conditions of q.
	SearchUsers(ctx context.Context, q UserQuery) ([]User, error)
	// SignUp stores a new user with its first account and session, either of
	// which may be nil, all or nothing. ErrConflict: the address, the identity
	// or the session token is taken, and nothing was written. The UserID of
	// account and session is filled in by the adapter, on success.
	SignUp(ctx context.Context, u User, a *Account, s *SessionRecord) (User, error)
	// ProveEmail applies p in one step. ErrStale: the user's address is not
	// p.Email any more, or its epoch not p.Epoch, and nothing is changed. When
	// the user's EmailVerified was empty and p.Keep is not set, its accounts
	// and sessions, its credentials but p.Pending, its SecondStep and the other
	// links and queued mails for p.Email are removed, p.Revoke is written, and
	// the removed accounts are returned; else only EmailVerified is set. The user is returned with its epoch after
	// that.
	ProveEmail(ctx context.Context, p Proof) (User, []Account, error)
}

// Accounts are the identities of users at providers. See [Adapter].
type Accounts interface {
	// LinkAccount stores a. ErrStale: epoch is no longer that of the user
	// a.UserID, and nothing is stored. ErrConflict: the identity is already
	// linked, to this user or another. ErrNotFound: no such user.
	LinkAccount(ctx context.Context, a Account, epoch int64) (Account, error)
	// RefreshAccount replaces the token fields of the account that a's
	// Provider and ProviderAccountID name; owner and id stay, and so does the
	// refresh token when a has none: providers give it out once. ErrStale:
	// epoch is not that of the user a.UserID any more. ErrNotFound: that user
	// has no such account.
	RefreshAccount(ctx context.Context, a Account, epoch int64) error
	// ReplaceTokens replaces the token fields as RefreshAccount does, but
	// whatever the epoch and the owner, and by exactly what a has: a refresh
	// token that a lacks is removed. ErrStale: the tokens of the stored
	// account are no longer those of was. All of them are compared
	// (Account.SameTokens), since not every provider gives a refresh token.
	ReplaceTokens(ctx context.Context, a, was Account) error
	// UnlinkAccount removes an account of the user r.UserID and writes r, in
	// one step. ErrStale: epoch is not the user's any more, such as when another
	// account has been removed meanwhile. ErrNotFound: that user has no such account.
	// With either nothing is removed, and r is not written.
	UnlinkAccount(ctx context.Context, provider, providerAccountID string, epoch int64, r *Revocation) error
	// ListAccounts returns a user's accounts ordered by provider, then id, or
	// ProviderAccountID where accounts have no ids.
	ListAccounts(ctx context.Context, userID string) ([]Account, error)
}

// Sessions are those of strategy "database", and what is known of those of
// strategy "jwt". See [Adapter].
type Sessions interface {
	// CreateSession stores s, which must have a Digest, unique. ErrStale: s.Epoch is
	// not the user's epoch any more, and nothing is stored. ErrNotFound: no
	// such user.
	CreateSession(ctx context.Context, s SessionRecord) (SessionRecord, error)
	// GetSession returns a session, even an expired one, and its user, whose
	// epochs, Blocked and DeleteAfter may be missing. Token and digest belong together (see
	// SessionRecord). Neither SessionOrigin nor Seen is read: it is called for
	// nearly every request.
	GetSession(ctx context.Context, token, digest string) (SessionRecord, User, error)
	// UpdateSession sets Expires, Began, AuthTime and Provider of the session that
	// s.SessionToken names, or s.Digest without one. It never brings a deleted
	// session back: ErrNotFound.
	UpdateSession(ctx context.Context, s SessionRecord) error
	// DeleteSession removes a session and returns what it was; Digest may be
	// empty.
	DeleteSession(ctx context.Context, token string) (SessionRecord, error)
	// DeleteSessionOf removes the session of a user that digest identifies in
	// authsvc's own table, with or without a token, and returns what it was.
	// ErrNotFound: that user has none.
	DeleteSessionOf(ctx context.Context, userID, digest string) (SessionRecord, error)
	// ListSessions returns a user's sessions, expired ones too, in no order.
	ListSessions(ctx context.Context, userID string) ([]SessionRecord, error)
	// TouchSessions sets Seen of sessions by their digests, never back to an
	// earlier time. What is not there is skipped.
	TouchSessions(ctx context.Context, seen []SessionSeen) error
	// EndSessions removes all sessions of a user, returning how many, removes
	// each CredentialPending of the user, and writes r, in one step. An unknown
	// user has none; r is written even so.
	EndSessions(ctx context.Context, userID string, r *Revocation) (int, error)
}

// Links are e-mailed links and the queue of the mails that carry them. See
// [Adapter].
type Links interface {
	// PutToken stores a link's token and the mail that carries it in one
	// step. ErrQueueFull: maxQueued mails wait already. ErrConflict: the token
	// is taken. Either way nothing is stored.
	PutToken(ctx context.Context, t VerificationToken, m Mail, maxQueued int) error
	// PutMail stores a mail without a link. Errors as PutToken.
	PutMail(ctx context.Context, m Mail, maxQueued int) error
	// GetToken returns the token, expired or not, and changes nothing.
	GetToken(ctx context.Context, identifier, token string) (VerificationToken, error)
	// TakeToken deletes and returns the token, expired or not, in one atomic
	// step: of any number of callers exactly one gets it.
	TakeToken(ctx context.Context, identifier, token string) (VerificationToken, error)
	// VoidTokens removes all tokens of an identifier and the queued mails that
	// carry them, if there are any. It is separate from TakeToken, which also
	// takes expired tokens, whose use must not void the others.
	VoidTokens(ctx context.Context, identifier string) error
	// ClaimMail returns the mail that has been due longest and is due by now,
	// counts the attempt and makes it due again at retry, in one atomic step,
	// so that no other worker claims it before then. The returned record is as
	// stored after the claim. ErrNotFound: none is due.
	ClaimMail(ctx context.Context, now, retry time.Time) (Mail, error)
	// DelayMail makes a mail due at the given time.
	DelayMail(ctx context.Context, id string, due time.Time) error
	// DeleteMail removes a mail. It is not an error if there is none.
	DeleteMail(ctx context.Context, id string) error
}

// Coordination is what replicas agree on: single use, revocations, limits and
// leases. See [Adapter].
type Coordination interface {
	// UseOnce records key until expires. ErrConflict: it was used before. Of
	// concurrent callers exactly one succeeds.
	UseOnce(ctx context.Context, key string, expires time.Time) error
	// Revoke writes revocations in one step, and sets Seq in each. A record
	// with the same key keeps the later NotBefore and the later Expires, and
	// gets the new Seq.
	Revoke(ctx context.Context, list ...*Revocation) error
	// Revocations reads the log: records that were written after a cursor (0:
	// from the beginning), in the order of the log, about limit of them, which
	// is at least 1. next is the cursor for the next call; if it equals after,
	// there is nothing more yet. A caller that goes on from next misses no
	// record, whenever its transaction is committed; it may get one twice, and
	// does not get records that were swept.
	Revocations(ctx context.Context, after int64, limit int) (list []Revocation, next int64, err error)
	// Permit counts an event under key by the generic cell rate algorithm, in
	// one atomic step, for all replicas: a key holds the time up to which its
	// events are paid for, which is now when it is unknown or past. Counting
	// moves that time on by interval. When it is more than burst ahead of now
	// the event is not counted, nothing changes, and wait says how long until
	// it would be. A time that is more than burst and interval ahead was
	// written by a clock or for a rate that is not in force: it is set to just
	// that far ahead, also when the event is not counted, so nobody waits for
	// longer than interval.
	Permit(ctx context.Context, key string, now time.Time, interval, burst time.Duration) (wait time.Duration, err error)
	// Lease gives name to holder until the given time if nobody has it, if it
	// lapsed before now, or if the holder has it already. ErrConflict: another
	// has it. Of concurrent callers exactly one succeeds.
	Lease(ctx context.Context, name, holder string, now, until time.Time) error
	// Release gives a lease up. It is not an error if the holder has lost it.
	Release(ctx context.Context, name, holder string) error
}

// Meta is what the store remembers of the deployment, and its upkeep. See
// [Adapter].
type Meta interface {
	// GetMeta returns the value under key.
	GetMeta(ctx context.Context, key string) (string, error)
	// PutMeta stores a value under key unless there is one, and returns what
	// is then stored.
	PutMeta(ctx context.Context, key, value string) (string, error)
	// SetMeta replaces the value under key.
	SetMeta(ctx context.Context, key, value string) error
	// Sweep deletes at most limit records that expired before now (sessions,
	// tokens, mails, used keys, revocations, permits, leases, credentials) and
	// returns how many.
	Sweep(ctx context.Context, now time.Time, limit int) (int, error)
	// Ping reports whether the store answers.
	Ping(ctx context.Context) error
}

// UserColumns is an Adapter that reads User.Extra.
type UserColumns interface {
	// UserColumns names the columns, all of which are in every Extra.
	UserColumns() []string
}

// A Clock is an Adapter that has a clock of its own, which all replicas then go
// by. An adapter without one is used by programs on one machine only, or goes
// by the clock of the one process that it lives in.
type Clock interface {
	// Now is the time at the store, with at least millisecond precision.
	Now(ctx context.Context) (time.Time, error)
}
