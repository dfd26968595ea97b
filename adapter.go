package authsvc

import (
	"context"
	"time"
)

// A User is a person. Empty strings and zero times mean absent.
type User struct {
	ID            string    // primary identifier
	Name          string    // display name
	Email         string    // unique when present, stored in normalised form
	EmailVerified time.Time // when the address was proved, UTC, milliseconds; zero: never
	Image         string    // URL of a picture
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

// A SessionRecord is a stored session. SessionToken is what the engine asks to
// store, a digest unless another program shares the table; Digest identifies
// the record in authsvc's own table, where AuthTime and Provider live. A
// record that another program wrote has a zero AuthTime.
type SessionRecord struct {
	ID           string
	SessionToken string // unique
	Digest       string // base64url SHA-256 of the cookie's value
	UserID       string
	Expires      time.Time // UTC, milliseconds
	AuthTime     time.Time // when the person proved who they are; zero: unknown
	Provider     string    // by which provider; empty: unknown
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
	ID       string // the Token of the VerificationToken that it carries
	Payload  []byte // at most 64 KiB
	Due      time.Time
	Expires  time.Time // not worth sending after this
	Attempts int       // how often it was claimed
}

// A Revocation makes JWT sessions invalid before their expiry. Key names what
// it covers (a session or a user); a token is refused when its
// authentication time is not after NotBefore.
type Revocation struct {
	Key       string
	NotBefore time.Time
	Written   time.Time // when, by the clock of the replica that wrote it
	Expires   time.Time // no token that it covers outlives this
}

// A UserUpdate names the fields of a User to change; nil leaves one alone.
type UserUpdate struct {
	Name          *string
	Email         *string
	EmailVerified *time.Time
	Image         *string
}

// A Proof says that a person read mail sent to a user's address.
type Proof struct {
	UserID string
	Email  string    // the address that was proved; its other links are voided
	At     time.Time // becomes EmailVerified
	Keep   bool      // only set EmailVerified: accounts, sessions and links stay
	Revoke *Revocation
}

// An Adapter keeps the records. It is a dumb driver: it hashes nothing, reads
// no clock, judges no expiry and normalises no address; it enforces
// uniqueness, cascades and the all-or-nothing steps below, for all replicas
// that share its store. Package adaptertest judges every implementation.
//
// Times are written and read in UTC with millisecond precision. Unknown
// records are ErrNotFound, broken uniqueness is ErrConflict; an error that is
// neither means that the store failed. Methods are safe for concurrent use and
// obey the context.
//
// The engine proposes ids (UUIDv7); the id in the returned record counts. It
// may be empty for accounts and sessions, whose tables have none in some
// programs.
//
// A store may use tables that another program made, with narrower columns.
// What does not fit is then an error and never cut, but for Account.ExpiresAt,
// which is stored as the latest that fits: too early is safe.
type Adapter interface {
	// CreateUser stores u. ErrConflict: the address is taken.
	CreateUser(ctx context.Context, u User) (User, error)
	GetUser(ctx context.Context, id string) (User, error)
	GetUserByEmail(ctx context.Context, email string) (User, error)
	GetUserByAccount(ctx context.Context, provider, providerAccountID string) (User, error)
	// UpdateUser changes the named fields. ErrConflict: the address is taken.
	UpdateUser(ctx context.Context, id string, change UserUpdate) (User, error)
	// DeleteUser removes the user and, with it, its accounts and sessions.
	DeleteUser(ctx context.Context, id string) error
	// ListUsers returns at most limit users, those that come after the one
	// with the id after in the store's own order of ids; "" begins. A page
	// shorter than limit is the last.
	ListUsers(ctx context.Context, after string, limit int) ([]User, error)

	// LinkAccount stores a. ErrConflict: the identity is linked already, to
	// whomever. ErrNotFound: no such user.
	LinkAccount(ctx context.Context, a Account) (Account, error)
	// RefreshAccount replaces the token fields of the account that a's
	// Provider and ProviderAccountID name; owner and id stay, and so does the
	// refresh token when a has none: providers give it out once.
	RefreshAccount(ctx context.Context, a Account) error
	UnlinkAccount(ctx context.Context, provider, providerAccountID string) error
	// ListAccounts returns a user's accounts ordered by provider, then id, or
	// ProviderAccountID where accounts have no ids.
	ListAccounts(ctx context.Context, userID string) ([]Account, error)

	// CreateSession stores s, which must have a Digest. ErrNotFound: no such
	// user.
	CreateSession(ctx context.Context, s SessionRecord) (SessionRecord, error)
	// GetSession returns a session, expired ones too, and its user. Token and
	// digest belong together (see SessionRecord).
	GetSession(ctx context.Context, token, digest string) (SessionRecord, User, error)
	// UpdateSession sets Expires, AuthTime and Provider of the session that
	// s.SessionToken names. It never brings a deleted session back:
	// ErrNotFound.
	UpdateSession(ctx context.Context, s SessionRecord) error
	// DeleteSession removes a session and returns what it was; Digest may be
	// empty.
	DeleteSession(ctx context.Context, token string) (SessionRecord, error)
	// ListSessions returns a user's sessions, expired ones too, in no order.
	ListSessions(ctx context.Context, userID string) ([]SessionRecord, error)

	// SignUp stores a new user with its first account and session, either of
	// which may be nil, all or nothing. ErrConflict: the address, the identity
	// or the session token is taken, and nothing was written. The UserID of
	// account and session is filled in by the adapter, on success.
	SignUp(ctx context.Context, u User, a *Account, s *SessionRecord) (User, error)
	// ProveEmail applies p in one step. When the user's EmailVerified was
	// empty and p.Keep is not set, its accounts and sessions and the other
	// links and queued mails for p.Email are removed, p.Revoke is written, and
	// the removed accounts are returned; else only EmailVerified is set.
	ProveEmail(ctx context.Context, p Proof) (User, []Account, error)
	// EndSessions removes all sessions of a user, returning how many, and
	// writes r (which may be nil), in one step. An unknown user has none.
	EndSessions(ctx context.Context, userID string, r *Revocation) (int, error)

	// PutToken stores a link's token and the mail that carries it in one
	// step. ErrQueueFull: maxQueued mails wait already. ErrConflict: the token
	// is taken. Either way nothing is stored.
	PutToken(ctx context.Context, t VerificationToken, m Mail, maxQueued int) error
	// TakeToken deletes and returns the token, expired or not, in one atomic
	// step: of any number of callers exactly one gets it.
	TakeToken(ctx context.Context, identifier, token string) (VerificationToken, error)
	// VoidTokens removes all tokens of an identifier and the queued mails that
	// carry them. None is no error. It is not one step with TakeToken, which
	// an expired token succeeds in, too: only the engine knows that a link was
	// good and the others are to go.
	VoidTokens(ctx context.Context, identifier string) error
	// ClaimMail returns the mail that has been due longest and is due by now,
	// counts the attempt and makes it due again at retry, in one atomic step,
	// so that no other worker claims it before then. The returned record is as
	// stored after the claim. ErrNotFound: none is due.
	ClaimMail(ctx context.Context, now, retry time.Time) (Mail, error)
	// DelayMail makes a mail due at the given time.
	DelayMail(ctx context.Context, id string, due time.Time) error
	// DeleteMail removes a mail; it is no error when it is gone already.
	DeleteMail(ctx context.Context, id string) error

	// UseOnce records key until expires. ErrConflict: it was used before. Of
	// any number of callers exactly one succeeds.
	UseOnce(ctx context.Context, key string, expires time.Time) error
	// Revoke writes r. A record with the same key keeps the later NotBefore
	// and the later Expires, and gets r.Written.
	Revoke(ctx context.Context, r Revocation) error
	// Revocations returns the records written at or after since.
	Revocations(ctx context.Context, since time.Time) ([]Revocation, error)

	// Permit counts an event under key by the generic cell rate algorithm, in
	// one atomic step, for all replicas: a key holds the time up to which its
	// events are paid for, which is now when it is unknown or past. Counting
	// moves that time on by interval. When it is more than burst ahead of now
	// the event is not counted, nothing changes, and wait says how long until
	// it would be.
	Permit(ctx context.Context, key string, now time.Time, interval, burst time.Duration) (wait time.Duration, err error)
	// Lease gives name to holder until the given time if nobody has it, if it
	// lapsed before now, or if the holder has it already. ErrConflict: another
	// has it. Of any number of callers exactly one succeeds.
	Lease(ctx context.Context, name, holder string, now, until time.Time) error
	// Release gives a lease up; it is no error when the holder has it no more.
	Release(ctx context.Context, name, holder string) error

	// GetMeta returns the value under key.
	GetMeta(ctx context.Context, key string) (string, error)
	// PutMeta stores a value under key unless there is one, and returns what
	// is then stored.
	PutMeta(ctx context.Context, key, value string) (string, error)
	// SetMeta replaces the value under key.
	SetMeta(ctx context.Context, key, value string) error
	// Sweep deletes at most limit records that expired before now (sessions,
	// tokens, mails, used keys, revocations, permits, leases) and returns how
	// many.
	Sweep(ctx context.Context, now time.Time, limit int) (int, error)
	// Ping reports whether the store answers.
	Ping(ctx context.Context) error
}
