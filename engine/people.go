package engine

import (
	"context"
	"io"
	"time"

	"authsvc"
)

// People has the methods about users and what belongs to them: sessions, accounts and
// tokens. [Service] and [Operator] embed it.
type People struct{ storeys }

// Person returns the data about a user that the account page shows. It returns
// [authsvc.ErrNotFound] if there is no such user.
func (p *People) Person(ctx context.Context, userID string) (*authsvc.PersonView, error) {
	return p.accountRoom.Person(ctx, userID)
}

// ScheduleDeletion schedules the deletion of a user for the end of
// AccountOptions.DeleteGrace and returns that time. Every session ends. Until then a
// sign-in begins no session: it ends at a page that asks whether to keep the account.
// The user is told by mail if there is an [authsvc.Email] provider. If the user is
// already scheduled, the time does not change.
//
// Without a grace period, ScheduleDeletion deletes the user; if Callbacks.DeleteUser
// refuses that, it is called again an hour later. ScheduleDeletion returns
// [authsvc.ErrNotFound] if there is no such user. You can repeat it, even after an
// error.
func (p *People) ScheduleDeletion(ctx context.Context, userID string) (at time.Time, err error) {
	return p.accountRoom.ScheduleDeletion(ctx, userID)
}

// CancelDeletion keeps a user whose deletion was scheduled. The user can then sign in
// again, but earlier sessions do not come back. CancelDeletion returns
// [authsvc.ErrNotFound] if there is no such user, for example because it is already
// deleted. It changes nothing for a user who is not scheduled.
func (p *People) CancelDeletion(ctx context.Context, userID string) error {
	return p.accountRoom.CancelDeletion(ctx, userID)
}

// DeleteUser calls Callbacks.DeleteUser, then ends every session of a user and removes
// the user and its accounts, in one step. If the callback returns an error, DeleteUser
// returns it and changes nothing. If there is no such user, DeleteUser returns
// [authsvc.ErrNotFound] but still ends JWT sessions with that id.
func (p *People) DeleteUser(ctx context.Context, userID string) error {
	return p.accountRoom.DeleteUser(ctx, userID)
}

// RequestEmailChange begins to change a user's address, as the user can on the account
// page. It mails the new address, which must be confirmed, and the old one, which can
// allow or stop the change. Its result does not depend on whether another user has the
// new address; that user is told by mail. An earlier change that is still pending is
// dropped. The mails are in the language of Person.Locale.
//
// The errors are [authsvc.ErrNoEmailChange], [authsvc.ErrNotFound] if there is no such
// user, [authsvc.ErrAccessDenied] if the user is blocked, and others if the address
// cannot be used or is already the user's.
func (p *People) RequestEmailChange(ctx context.Context, userID, address string) error {
	return p.accountRoom.RequestEmailChange(ctx, userID, address)
}

// Export writes the data kept about a user as a JSON object: the user, accounts,
// sessions, the newest 10 000 stored audit events and the result of Callbacks.Export.
// Its list of passkeys is reserved, and empty. Export leaves out tokens, hashes and
// keys. If it returns an error, it has written nothing, unless the error is from w or
// occurs while it reads events. It returns [authsvc.ErrNotFound] if there is no such
// user.
func (p *People) Export(ctx context.Context, userID string, w io.Writer) error {
	return p.accountRoom.Export(ctx, userID, w)
}

// CreatePersonalToken makes a personal access token for a user and returns it. The
// store has only its digest, so the token cannot be read again. The user is told by mail
// if there is an [authsvc.Email] provider.
//
// The errors are [authsvc.ErrNoPersonalTokens], [authsvc.ErrNotFound] if there is no
// such user, [authsvc.ErrAccessDenied] if the user is blocked, [authsvc.ErrTooMany] if
// the user has 100 tokens (including any that expired in the last minute), and all
// mistakes in the request, joined.
func (p *People) CreatePersonalToken(ctx context.Context, userID string, r authsvc.PersonalTokenRequest) (token string, info authsvc.PersonalToken, err error) {
	return p.issuer.CreatePersonalToken(ctx, userID, r)
}

// PersonalTokens returns the personal access tokens of a user, oldest first and
// including expired ones. It returns [authsvc.ErrNotFound] if there is no such user.
func (p *People) PersonalTokens(ctx context.Context, userID string) ([]authsvc.PersonalToken, error) {
	return p.issuer.PersonalTokens(ctx, userID)
}

// RevokePersonalToken ends the personal access token of a user with the given
// [authsvc.PersonalToken].ID, on every replica at once. Tokens that POST token has
// issued for it stay valid until they expire, at most 15 minutes. RevokePersonalToken
// returns [authsvc.ErrNotFound] if the user has no such token.
func (p *People) RevokePersonalToken(ctx context.Context, userID, id string) error {
	return p.issuer.RevokePersonalToken(ctx, userID, id)
}

// RevokePersonalTokens ends all personal access tokens of a user and returns how many
// it ended. EndSessions does not end them: programs keep working when a person signs
// out everywhere.
func (p *People) RevokePersonalTokens(ctx context.Context, userID string) (int, error) {
	return p.issuer.RevokePersonalTokens(ctx, userID)
}

// Sessions returns the sessions of a user that have not ended, the latest used first.
// With strategy jwt, it lists only sessions that began at a service with a store.
// Tokens from earlier versions and from NextAuth.js are not listed, but EndSessions
// ends them too.
func (p *People) Sessions(ctx context.Context, userID string) ([]authsvc.SessionView, error) {
	return p.keeper.Sessions(ctx, userID)
}

// EndSession ends one session of a user, on all replicas within a few seconds. It
// returns [authsvc.ErrNotFound] if the user has no session with that ID
// ([authsvc.SessionView]). The user is told by mail ([authsvc.NoticeOptions]).
func (p *People) EndSession(ctx context.Context, userID, sessionID string) error {
	err := p.keeper.EndSession(ctx, userID, sessionID)
	if err == nil {
		p.mailing.notifyEnded(ctx, userID)
	}
	return err
}

// EndOtherSessions ends all listed sessions of a user but one. A sign-in in progress
// either has begun its session already, which then ends, or starts over. Sessions that
// Sessions cannot list continue; EndSessions ends them all. No notice is sent, because
// the person in the remaining session asks for this.
func (p *People) EndOtherSessions(ctx context.Context, userID, keepSessionID string) error {
	return p.keeper.EndOtherSessions(ctx, userID, keepSessionID)
}

// Accounts returns the accounts of a user with the tokens that providers issued at the
// last sign-in or refresh, as Config.ProviderTokens says. It opens sealed tokens. If a
// token cannot be opened, because its secret is no longer configured or its row was
// changed, it is empty and the log names it. For a user that does not exist, there are
// no accounts.
func (p *People) Accounts(ctx context.Context, userID string) ([]authsvc.Account, error) {
	return p.vault.Accounts(ctx, userID)
}

// AccessToken returns an access token of the user's account at a provider. If the token
// expires within a minute, AccessToken refreshes it. A token for which the provider
// gave no lifetime counts as valid. Of concurrent callers, on all replicas of one
// store, one asks the provider and the others get its result. A new refresh token is
// stored before the access token is returned.
//
// A stored token that cannot be opened counts as absent: without an access token the
// refresh token is used; without both the error is [authsvc.ErrNoToken].
//
// The error is [authsvc.ErrNotFound] if the user has no account at the provider. After
// [authsvc.ErrNoToken] and [authsvc.ErrTokenRefused], the person must sign in again.
// After [authsvc.ErrBusy], try again. Other errors are temporary: the provider or the
// store is down. The provider is then not asked again for 10 s. If the user has several
// accounts at the provider, the options must name one.
func (p *People) AccessToken(ctx context.Context, userID, provider string, options *AccessTokenOptions) (string, error) {
	return p.vault.AccessToken(ctx, userID, provider, options)
}

// UnlinkAccount removes an account of a user. Then, in the background, it revokes the
// account's tokens if the provider supports that (RFC 7009). Sessions continue;
// EndSessions ends them. The user is told by mail ([authsvc.NoticeOptions]). A sign-in
// in progress with this account either has begun its session already or ends without
// one.
//
// The error is [authsvc.ErrNotFound] if the user has no such account. It is
// [authsvc.ErrLastAccount] if the user has no other account at a configured provider,
// no verified address to which sign-in links are sent, and no other way to sign in
// that Callbacks.WaysIn counts. Only that callback knows whether a credentials provider
// would let the user in. With EvenLast, these checks are skipped.
func (p *People) UnlinkAccount(ctx context.Context, userID, provider, providerAccountID string, options *UnlinkOptions) error {
	return p.vault.UnlinkAccount(ctx, userID, provider, providerAccountID, options)
}
