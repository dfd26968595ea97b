// Package adapter defines what a store of authsvc has to do: the interface [Adapter], the
// records that it stores, and the errors that it returns.
//
// The packages below this one implement it for PostgreSQL, MariaDB and MySQL, SQLite,
// MongoDB, Redis and memory. A store that also keeps audit events implements
// authsvc.AuditLog, too. Package adaptertest tests every implementation, also one of your
// own.
package adapter

import (
	"context"
	"time"
)

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
	// CreateUser stores u, and treats r as SignUp does. ErrConflict: the address is taken.
	CreateUser(ctx context.Context, u User, r *Revocation) (User, error)
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
	//
	// An earlier user may have had the id: a database may give a number again, also after
	// a program other than authsvc deleted the user. Unless the id is a UUID or the store
	// never gives an id twice, SignUp removes the records that the earlier user left, sets
	// the UserID of r to the id and its Key to "user:" followed by the id, and writes r,
	// all in the same step. The returned user has the epoch of r, so its sessions are
	// valid, and all earlier ones are not. Otherwise SignUp leaves r unchanged. r may be
	// nil: nothing is written.
	SignUp(ctx context.Context, u User, a *Account, s *SessionRecord, locale string, r *Revocation) (User, error)
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
	// SessionEpoch, Blocked, DeleteAfter and Locale of that user may be missing. The
	// parameters token and digest must be the SessionToken and the Digest of one session.
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
	// exactly one of any number of callers gets it. If the token has not expired at now,
	// TakeToken also removes the other tokens of the identifier and any queued mails that
	// carry them; the mail of the token itself may remain. Of callers that take different
	// tokens of an identifier at once, at least one gets its token. A store without
	// transactions may give several of them theirs. The others get ErrNotFound, and no
	// token remains.
	//
	// TakeToken returns the user whose address is the identifier, or the zero User. It
	// must not look for the user before it has found the token: otherwise the time that
	// a caller with a made-up token waits would reveal whether the user exists.
	TakeToken(ctx context.Context, identifier, token string, now time.Time) (VerificationToken, User, error)
	// VoidTokens removes all tokens of an identifier and any queued mails that carry
	// them.
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
