package engine

import (
	"context"
	"io"
	"time"

	"authsvc"
)

// People are the methods about users and what belongs to them: sessions, accounts
// and tokens. A [Service] and an [Operator] have them.
type People struct{ storeys }

// Person returns what the account page shows of a user. ErrNotFound: there is none.
func (p *People) Person(ctx context.Context, userID string) (*authsvc.PersonView, error) {
	return p.accountRoom.Person(ctx, userID)
}

// ScheduleDeletion has a user deleted when AccountOptions.DeleteGrace is over, and
// returns when that is. Every session ends. Until then a sign-in begins no session:
// it ends at a page that asks whether the account is to be kept. The user is told
// by mail if there is an [authsvc.Email] provider. A user who is scheduled already stays
// so for the same time. Without a grace it is the deletion itself; if
// Callbacks.DeleteUser refuses that, it is asked again an hour later.
// ErrNotFound: there is no such user. It can be repeated, also after an error.
func (p *People) ScheduleDeletion(ctx context.Context, userID string) (at time.Time, err error) {
	return p.accountRoom.ScheduleDeletion(ctx, userID)
}

// CancelDeletion keeps a user whose deletion was scheduled, who can then sign in
// again. Sessions do not come back. ErrNotFound: there is no such user, because it
// is deleted, for instance. Of a user who is to stay anyway it changes nothing.
func (p *People) CancelDeletion(ctx context.Context, userID string) error {
	return p.accountRoom.CancelDeletion(ctx, userID)
}

// DeleteUser asks Callbacks.DeleteUser, ends every session of a user and removes
// the user with its accounts, in one step. ErrNotFound: there is none; JWT sessions
// in the name of the id end even so. An error of the callback is returned, and
// nothing is changed.
func (p *People) DeleteUser(ctx context.Context, userID string) error {
	return p.accountRoom.DeleteUser(ctx, userID)
}

// RequestEmailChange begins to change a user's address, as the user can on the
// account page: mails go to the new address, which has to be confirmed, and to the
// old one, which can allow it or stop it. Whether the new address is somebody's
// already makes no difference here; its owner is told by mail. An earlier change that
// waits is dropped. The mails are in the language of Person.Locale. Errors:
// [authsvc.ErrNoEmailChange], [authsvc.ErrNotFound] (no such user), [authsvc.ErrAccessDenied] (the user is
// blocked), and an address that cannot be used, or is the user's.
func (p *People) RequestEmailChange(ctx context.Context, userID, address string) error {
	return p.accountRoom.RequestEmailChange(ctx, userID, address)
}

// Export writes what is kept of a user as a JSON object: the user, accounts,
// passkeys, sessions, the newest 10 000 stored audit events, and what
// Callbacks.Export returns, without tokens, hashes and keys. Unless the error is
// from w or comes while events are read, nothing was written. ErrNotFound: no such
// user.
func (p *People) Export(ctx context.Context, userID string, w io.Writer) error {
	return p.accountRoom.Export(ctx, userID, w)
}

// CreatePersonalToken makes a personal access token of a user and returns it: the
// store has its digest only, so nobody can read it again. Errors:
// [authsvc.ErrNoPersonalTokens], [authsvc.ErrNotFound] (no such user), [authsvc.ErrAccessDenied] (the user
// is blocked), [authsvc.ErrTooMany] (the user has 100, expired ones of the last minute
// counted), and all that is wrong with the request, joined.
func (p *People) CreatePersonalToken(ctx context.Context, userID string, r authsvc.PersonalTokenRequest) (token string, info authsvc.PersonalToken, err error) {
	return p.issuer.CreatePersonalToken(ctx, userID, r)
}

// PersonalTokens returns the personal access tokens of a user, expired ones too,
// the oldest first. ErrNotFound: no such user.
func (p *People) PersonalTokens(ctx context.Context, userID string) ([]authsvc.PersonalToken, error) {
	return p.issuer.PersonalTokens(ctx, userID)
}

// RevokePersonalToken ends a personal access token of a user by its
// [authsvc.PersonalToken].ID, for every replica at once. What POST token answered to it
// before is good until it expires, 15 minutes at most. ErrNotFound: the user has
// no such token.
func (p *People) RevokePersonalToken(ctx context.Context, userID, id string) error {
	return p.issuer.RevokePersonalToken(ctx, userID, id)
}

// RevokePersonalTokens ends all personal access tokens of a user and returns how
// many. EndSessions does not: programs go on when a person signs out everywhere.
func (p *People) RevokePersonalTokens(ctx context.Context, userID string) (int, error) {
	return p.issuer.RevokePersonalTokens(ctx, userID)
}

// Sessions returns the sessions of a user that have not ended, the latest used
// first. With strategy jwt they are those that began at a service with a store;
// tokens from before that version, and of NextAuth.js, are not in it: EndSessions
// ends those, too.
func (p *People) Sessions(ctx context.Context, userID string) ([]authsvc.SessionView, error) {
	return p.keeper.Sessions(ctx, userID)
}

// EndSession ends one session of a user, on all replicas within a few seconds.
// ErrNotFound: the user has no session with that ID ([authsvc.SessionView]). The user is told
// by mail ([authsvc.NoticeOptions]).
func (p *People) EndSession(ctx context.Context, userID, sessionID string) error {
	err := p.keeper.EndSession(ctx, userID, sessionID)
	if err == nil {
		p.mailing.notifyEnded(ctx, userID)
	}
	return err
}

// EndOtherSessions ends the listed sessions of a user but one. A sign-in that is
// under way has either begun its session before, which then ends, or begins anew.
// Sessions that Sessions cannot list go on: EndSessions ends all. No notice is sent:
// it is for the person in the session that is kept.
func (p *People) EndOtherSessions(ctx context.Context, userID, keepSessionID string) error {
	return p.keeper.EndOtherSessions(ctx, userID, keepSessionID)
}

// Accounts returns the accounts of a user with the tokens that providers gave
// at the last sign-in, as Config.ProviderTokens says: opened, if they are
// sealed. A token that cannot be opened, because its secret is not configured
// any more or its row was changed, is empty, and the log names it. A user that
// does not exist has no accounts.
func (p *People) Accounts(ctx context.Context, userID string) ([]authsvc.Account, error) {
	return p.vault.Accounts(ctx, userID)
}

// AccessToken returns an access token of the user's account at a provider, and
// refreshes it if it expires within a minute. A token for which the provider
// gave no lifetime counts as valid. Of concurrent callers, in all replicas of
// one store, one asks the provider and the others get its result. A new refresh
// token is stored before the access token is returned.
//
// A stored token that cannot be opened counts as absent: without an access token
// the refresh token is used; without both the error is ErrNoToken.
//
// ErrNotFound: the user has no account there. ErrNoToken and ErrTokenRefused:
// the person has to sign in again. ErrBusy: try again. Other errors are
// temporary (the provider or the store is down); the provider is not asked
// again for 10 s. If the user has several accounts at
// the provider, the options name one.
func (p *People) AccessToken(ctx context.Context, userID, provider string, options *AccessTokenOptions) (string, error) {
	return p.vault.AccessToken(ctx, userID, provider, options)
}

// UnlinkAccount removes an account of a user and then, in the background,
// revokes its tokens where the provider takes that (RFC 7009). Sessions go on;
// EndSessions ends them. The user is told by mail ([authsvc.NoticeOptions]). A sign-in by the account that is under way has either
// begun its session before, or ends without one.
//
// ErrNotFound: the user has no such account. ErrLastAccount: the user has no
// other account at a configured provider, no verified address while links are
// sent, and Callbacks.WaysIn knows of nothing else. What a credentials provider
// would let in only that callback knows; EvenLast does not ask.
func (p *People) UnlinkAccount(ctx context.Context, userID, provider, providerAccountID string, options *UnlinkOptions) error {
	return p.vault.UnlinkAccount(ctx, userID, provider, providerAccountID, options)
}
