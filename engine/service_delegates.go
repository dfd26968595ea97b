package engine

import (
	"context"
	"io"
	"net/http"
	"time"

	"authsvc"
)

// Person returns what the account page shows of a user. ErrNotFound: there is none.
func (s *Service) Person(ctx context.Context, userID string) (*authsvc.PersonView, error) {
	return s.accountRoom.Person(ctx, userID)
}

// ScheduleDeletion has a user deleted when AccountOptions.DeleteGrace is over, and
// returns when that is. Every session ends. Until then a sign-in begins no session:
// it ends at a page that asks whether the account is to be kept. The user is told
// by mail if there is an [authsvc.Email] provider. A user who is scheduled already stays
// so for the same time. Without a grace it is the deletion itself; if
// Callbacks.DeleteUser refuses that, it is asked again an hour later.
// ErrNotFound: there is no such user. It can be repeated, also after an error.
func (s *Service) ScheduleDeletion(ctx context.Context, userID string) (at time.Time, err error) {
	return s.accountRoom.ScheduleDeletion(ctx, userID)
}

// CancelDeletion keeps a user whose deletion was scheduled, who can then sign in
// again. Sessions do not come back. ErrNotFound: there is no such user, because it
// is deleted, for instance. Of a user who is to stay anyway it changes nothing.
func (s *Service) CancelDeletion(ctx context.Context, userID string) error {
	return s.accountRoom.CancelDeletion(ctx, userID)
}

// DeleteUser asks Callbacks.DeleteUser, ends every session of a user and removes
// the user with its accounts, in one step. ErrNotFound: there is none; JWT sessions
// in the name of the id end even so. An error of the callback is returned, and
// nothing is changed.
func (s *Service) DeleteUser(ctx context.Context, userID string) error {
	return s.accountRoom.DeleteUser(ctx, userID)
}

// RequestEmailChange begins to change a user's address, as the user can on the
// account page: mails go to the new address, which has to be confirmed, and to the
// old one, which can allow it or stop it. Whether the new address is somebody's
// already makes no difference here; its owner is told by mail. An earlier change that
// waits is dropped. The mails are in the language of Person.Locale. Errors:
// [authsvc.ErrNoEmailChange], [authsvc.ErrNotFound] (no such user), [authsvc.ErrAccessDenied] (the user is
// blocked), and an address that cannot be used, or is the user's.
func (s *Service) RequestEmailChange(ctx context.Context, userID, address string) error {
	return s.accountRoom.RequestEmailChange(ctx, userID, address)
}

// Export writes what is kept of a user as a JSON object: the user, accounts,
// passkeys, sessions, the newest 10 000 stored audit events, and what
// Callbacks.Export returns, without tokens, hashes and keys. Unless the error is
// from w or comes while events are read, nothing was written. ErrNotFound: no such
// user.
func (s *Service) Export(ctx context.Context, userID string, w io.Writer) error {
	return s.accountRoom.Export(ctx, userID, w)
}

// Guard passes requests for the hosts of Config.Gate on to next if the rules let
// them, with the headers of Config.Gate.Headers, and those for hosts with an
// Upstream there; next finds the session by [Service.Session] and may be nil if
// all have one. People who have to sign in first are sent to the sign-in page;
// everything else that may not pass is answered 401 or 403, 400 if its path cannot
// be judged, 421 if its host is not configured, and 503 if sessions cannot be read.
//
// The routes of the service have to be reachable at each host, below the path of
// URL: at other hosts than that of URL they are those of the gate alone.
//
// When the person signs out, or may not pass any more for other reasons, the
// context of a request ends, within Config.Gate.Recheck. That, or Close, ends what
// an Upstream still sends; next has to see to it itself.
func (s *Service) Guard(next http.Handler) http.Handler {
	return s.gateRoom.Guard(next)
}

// EndStreams ends the requests that Guard has passed on and that are still being
// answered, now and from now on; an http.Server that shuts down would wait for
// them. Close does it too.
func (s *Service) EndStreams() {
	s.gateRoom.EndStreams()
}

// GatedHost returns the number in Config.Gate.Hosts of the host that a Host header
// names, -1 if there is none.
func (s *Service) GatedHost(host string) int {
	return s.gateRoom.GatedHost(host)
}

// IdentityHeaders returns the names of the headers of Config.Gate.Headers, in canonical
// form: those that a program behind the gate learns who is asking from.
func (s *Service) IdentityHeaders() []string {
	return s.gateRoom.IdentityHeaders()
}

// ChecksGate reports whether a proxy asks by this request whether another may pass.
// ServeHTTP answers that whatever Host says, and only to Config.Gate.Proxies; a
// program that serves the host of URL only lets it through as well.
func (s *Service) ChecksGate(r *http.Request) bool {
	return s.gateRoom.ChecksGate(r)
}

// InternalHost reports whether a Host header names one of Config.InternalHosts.
// ServeHTTP refuses there whatever they may not be asked for; a program that
// serves the host of URL only lets these through as well.
func (s *Service) InternalHost(host string) bool {
	return s.site.InternalHost(host)
}

// CreatePersonalToken makes a personal access token of a user and returns it: the
// store has its digest only, so nobody can read it again. Errors:
// [authsvc.ErrNoPersonalTokens], [authsvc.ErrNotFound] (no such user), [authsvc.ErrAccessDenied] (the user
// is blocked), [authsvc.ErrTooMany] (the user has 100, expired ones of the last minute
// counted), and all that is wrong with the request, joined.
func (s *Service) CreatePersonalToken(ctx context.Context, userID string, r authsvc.PersonalTokenRequest) (token string, info authsvc.PersonalToken, err error) {
	return s.issuer.CreatePersonalToken(ctx, userID, r)
}

// PersonalTokens returns the personal access tokens of a user, expired ones too,
// the oldest first. ErrNotFound: no such user.
func (s *Service) PersonalTokens(ctx context.Context, userID string) ([]authsvc.PersonalToken, error) {
	return s.issuer.PersonalTokens(ctx, userID)
}

// RevokePersonalToken ends a personal access token of a user by its
// [authsvc.PersonalToken].ID, for every replica at once. What POST token answered to it
// before is good until it expires, 15 minutes at most. ErrNotFound: the user has
// no such token.
func (s *Service) RevokePersonalToken(ctx context.Context, userID, id string) error {
	return s.issuer.RevokePersonalToken(ctx, userID, id)
}

// RevokePersonalTokens ends all personal access tokens of a user and returns how
// many. EndSessions does not: programs go on when a person signs out everywhere.
func (s *Service) RevokePersonalTokens(ctx context.Context, userID string) (int, error) {
	return s.issuer.RevokePersonalTokens(ctx, userID)
}

// Sessions returns the sessions of a user that have not ended, the latest used
// first. With strategy jwt they are those that began at a service with a store;
// tokens from before that version, and of NextAuth.js, are not in it: EndSessions
// ends those, too.
func (s *Service) Sessions(ctx context.Context, userID string) ([]authsvc.SessionView, error) {
	return s.keeper.Sessions(ctx, userID)
}

// SessionID returns the ID of the SessionView of a session; a session that is not
// listed has one all the same.
func (s *Service) SessionID(of *authsvc.Session) string {
	return s.keeper.SessionID(of)
}

// EndSession ends one session of a user, on all replicas within a few seconds.
// ErrNotFound: the user has no session with that ID ([authsvc.SessionView]). The user is told
// by mail ([authsvc.NoticeOptions]).
func (s *Service) EndSession(ctx context.Context, userID, sessionID string) error {
	err := s.keeper.EndSession(ctx, userID, sessionID)
	if err == nil {
		s.mailing.notifyEnded(ctx, userID)
	}
	return err
}

// EndOtherSessions ends the listed sessions of a user but one. A sign-in that is
// under way has either begun its session before, which then ends, or begins anew.
// Sessions that Sessions cannot list go on: EndSessions ends all. No notice is sent:
// it is for the person in the session that is kept.
func (s *Service) EndOtherSessions(ctx context.Context, userID, keepSessionID string) error {
	return s.keeper.EndOtherSessions(ctx, userID, keepSessionID)
}

// SigningKeys returns the keys of GET jwks as they are in the store, by algorithm
// and in the order in which they sign. ErrNoTokens: there are none;
// ErrSealedKeys: they cannot be read.
func (s *Service) SigningKeys(ctx context.Context) ([]authsvc.SigningKey, error) {
	return s.issuer.SigningKeys(ctx)
}

// RotateKeys makes the next key of every algorithm in use and returns those that
// it made: none if they are published already. A key signs a day later; with
// atOnce after a minute, when all replicas publish it. If none of Secrets opens the
// keys in the store, atOnce replaces them, and tokens that are out are refused.
// ErrNoTokens, ErrDerivedKeys, ErrSealedKeys and ErrBusy are the errors beside those of the store.
func (s *Service) RotateKeys(ctx context.Context, atOnce bool) (ids []string, err error) {
	return s.issuer.RotateKeys(ctx, atOnce)
}

// RetireKey takes a key out of the set, and with it all tokens that it signed:
// programs that verify them refuse them as soon as they read the set again. If it
// signs, its successor does from now on. ErrNotFound: there is no such key; the
// other errors are those of RotateKeys.
func (s *Service) RetireKey(ctx context.Context, id string) error {
	return s.issuer.RetireKey(ctx, id)
}

// Accounts returns the accounts of a user with the tokens that providers gave
// at the last sign-in, as Config.ProviderTokens says: opened, if they are
// sealed. A token that cannot be opened, because its secret is not configured
// any more or its row was changed, is empty, and the log names it. A user that
// does not exist has no accounts.
func (s *Service) Accounts(ctx context.Context, userID string) ([]authsvc.Account, error) {
	return s.vault.Accounts(ctx, userID)
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
// again for 10 s. A user with several accounts at the provider needs
// [OfAccount].
func (s *Service) AccessToken(ctx context.Context, userID, provider string, options ...AccessTokenOption) (string, error) {
	return s.vault.AccessToken(ctx, userID, provider, options...)
}

// RewriteTokens stores the tokens of all accounts as Config.ProviderTokens says
// now: empty, sealed under the first of Secrets, or plain. What a sign-in or a
// refresh stores meanwhile is never overwritten. A token that cannot be opened
// stays, unless none are kept. With dryRun nothing is written.
//
// It calls visit for each account that it writes or leaves something in. Users
// are read in pages; what replicas with another configuration write after it is
// for another run.
func (s *Service) RewriteTokens(ctx context.Context, dryRun bool, visit func(TokenRewrite) error) error {
	return s.vault.RewriteTokens(ctx, dryRun, visit)
}

// UnlinkAccount removes an account of a user and then, in the background,
// revokes its tokens where the provider takes that (RFC 7009). Sessions go on;
// EndSessions ends them. The user is told by mail ([authsvc.NoticeOptions]). A sign-in by the account that is under way has either
// begun its session before, or ends without one.
//
// ErrNotFound: the user has no such account. ErrLastAccount: the user has no
// other account at a configured provider, no verified address while links are
// sent, and Callbacks.WaysIn knows of nothing else. What a credentials provider
// would let in only that callback knows; [EvenLast] does not ask.
func (s *Service) UnlinkAccount(ctx context.Context, userID, provider, providerAccountID string, options ...UnlinkOption) error {
	return s.vault.UnlinkAccount(ctx, userID, provider, providerAccountID, options...)
}
