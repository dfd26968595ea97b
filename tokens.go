package authsvc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"authsvc/internal/seal"
)

// A tokenStorage is how the tokens of identity providers are kept in the store.
type tokenStorage struct {
	box     *seal.Box
	seal    bool // else they are kept as they came
	discard bool // not at all
}

// sealedToken begins every sealed token. No provider's begins so, therefore
// rows that are not sealed can be read beside those that are.
const sealedToken = "authsvc.sealed."

// refusedToken stands in the store for a refresh token that the provider
// refused: one that is presented a spent token time and again may lock the
// client out. No provider's token begins so.
const refusedToken = "authsvc.refused"

// checkTokenStorage reads Config.ProviderTokens.
func checkTokenStorage(b *builder, s *Service) {
	s.tokens.seal = s.dialect.sealsTokens
	switch b.config.ProviderTokens {
	case "":
	case ProviderTokensSealed:
		s.tokens.seal = true
	case ProviderTokensPlain:
		s.tokens.seal = false
	case ProviderTokensDrop:
		s.tokens.discard = true
	default:
		b.fail("ProviderTokens", fmt.Sprintf("%q is not known", printable(string(b.config.ProviderTokens), 30)), "use sealed, plain or drop")
	}
}

// forStorage returns the account as it is stored.
func (v *tokenStorage) forStorage(a Account) Account {
	if v.discard {
		a.RefreshToken, a.AccessToken, a.IDToken, a.ExpiresAt = "", "", "", 0
	}
	if !v.seal {
		return a
	}
	for name, token := range tokensOf(&a) {
		if *token != "" {
			*token = v.sealToken(*token, &a, name)
		}
	}
	return a
}

// sealToken ties a token to its account and field, so that whoever can write rows
// cannot have one account show the tokens of another.
func (v *tokenStorage) sealToken(token string, a *Account, name string) string {
	return sealedToken + v.box.Seal(token, a.Provider, a.ProviderAccountID, name)
}

// open returns a stored account with its tokens readable, for telling and
// revoking. See read; a refresh token that the provider refused is none.
func (v *tokenStorage) open(stored Account) (a Account, lost []string) {
	a, _, lost = v.read(stored)
	a.withoutRefused()
	return a, lost
}

// read returns a stored account with its tokens readable, refusedToken among
// them. Each is opened by itself: one that cannot be is empty, and lost names
// it. renewed is the stored account with what an older secret sealed kept as
// it would be now; what cannot be opened stays, since the secret may come back.
func (v *tokenStorage) read(stored Account) (a, renewed Account, lost []string) {
	a, renewed = stored, stored
	renew := tokensOf(&renewed)
	for name, token := range tokensOf(&a) {
		text, is := strings.CutPrefix(*token, sealedToken)
		if !is {
			continue
		}
		text, stale, err := v.box.Open(text, a.Provider, a.ProviderAccountID, name)
		switch *token = text; {
		case err != nil:
			lost = append(lost, name)
		case stale && v.seal:
			*renew[name] = v.sealToken(text, &a, name)
		case stale:
			*renew[name] = text
		}
	}
	slices.Sort(lost)
	return a, renewed, lost
}

func (a *Account) withoutRefused() {
	if a.RefreshToken == refusedToken {
		a.RefreshToken = ""
	}
}

// tokensOf are the fields of an account that are worth stealing.
func tokensOf(a *Account) map[string]*string {
	return map[string]*string{"refresh_token": &a.RefreshToken, "access_token": &a.AccessToken, "id_token": &a.IDToken}
}

// Accounts returns the accounts of a user with the tokens that providers gave
// at the last sign-in, as Config.ProviderTokens says: opened, if they are
// sealed. A token that cannot be opened, because its secret is not configured
// any more or its row was changed, is empty, and the log names it. A user that
// does not exist has no accounts.
func (s *Service) Accounts(ctx context.Context, userID string) ([]Account, error) {
	stored, err := s.adapter.ListAccounts(ctx, userID)
	if err != nil {
		return nil, err
	}
	list := make([]Account, len(stored))
	for i, one := range stored {
		list[i], _ = s.readAccount(ctx, one)
		list[i].withoutRefused()
	}
	return list, nil
}

// readAccount is tokenStorage.read. What an older secret sealed is stored anew, if
// that can be done now and nobody replaced it meanwhile: the secret can be
// taken away some day. kept is the account as it is stored then.
func (s *Service) readAccount(ctx context.Context, stored Account) (a, kept Account) {
	a, renewed, lost := s.tokens.read(stored)
	s.logLost(a, lost)
	if renewed == stored {
		return a, stored
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	switch err := s.adapter.ReplaceTokens(ctx, renewed, stored); {
	case err == nil:
		return a, renewed
	case !errors.Is(err, ErrStale) && !errors.Is(err, ErrNotFound):
		s.log.Warn("tokens that an older secret sealed could not be sealed anew", "provider", a.Provider, "user", a.UserID, "cause", err)
	}
	return a, stored
}

// logLost logs which tokens of an account cannot be opened.
func (s *Service) logLost(a Account, lost []string) {
	if len(lost) > 0 {
		s.log.Warn("tokens of an account cannot be opened: the secret that sealed them is not configured any more, or the row was changed; the next sign-in replaces them",
			"provider", a.Provider, "user", a.UserID, "tokens", lost)
	}
}

// tokenMargin is how long before its expiry an access token is renewed: enough
// to use what AccessToken returns.
const tokenMargin = time.Minute

// Errors of AccessToken that only the person can mend, by signing in again.
var (
	// ErrNoToken: no usable access token is stored, and no refresh token.
	ErrNoToken = errors.New("authsvc: no usable token of the provider is stored; the person has to sign in again")
	// ErrTokenRefused: the provider does not honour the refresh token any more.
	ErrTokenRefused = errors.New("authsvc: the provider refused the stored refresh token; the person has to sign in again")
)

// A tokenFlow is a flow whose accounts have tokens that can be renewed and
// revoked.
type tokenFlow interface {
	// refresh returns a with new tokens. See oidc.IsInvalidGrant for refusals, which
	// may be ErrTokenRefused as well.
	refresh(ctx context.Context, s *Service, a Account) (Account, error)
	// revoke makes a token of an account invalid at the provider.
	revoke(ctx context.Context, s *Service, a Account, token, hint string) error
}

// AccessToken returns an access token of the user's account at a provider that
// is good for another minute at least, if the provider says how long its tokens
// are, and refreshes it when it is not. Of any number of callers, in all
// replicas of one store, one asks the provider; the others get what it got. A
// new refresh token is stored before the access token is returned.
//
// A stored token that cannot be opened counts as absent: without the access
// token the refresh token is used, without that one see ErrNoToken.
//
// ErrNotFound: the user has no account there. ErrNoToken and ErrTokenRefused:
// the person has to sign in again. ErrBusy: try again. Any other error may pass
// (the provider or the store is down); for 10 s the provider is not asked
// again. A user with several accounts at the provider needs [OfAccount].
func (s *Service) AccessToken(ctx context.Context, userID, provider string, options ...AccessTokenOption) (string, error) {
	var o accessTokenOptions
	for _, option := range options {
		option(&o)
	}
	a, _, err := s.account(ctx, userID, provider, o.providerAccountID)
	if err != nil {
		return "", err
	}
	now := s.now()
	if fresh(&a, now.Add(tokenMargin)) {
		return a.AccessToken, nil
	}
	if err := s.checkRefreshable(&a); err != nil {
		if fresh(&a, now) && !errors.Is(err, ErrTokenRefused) {
			return a.AccessToken, nil
		}
		return "", err
	}
	token, err := s.refreshAccessToken(ctx, a)
	if err != nil && fresh(&a, s.now()) && !errors.Is(err, ErrTokenRefused) && ctx.Err() == nil {
		return a.AccessToken, nil // some seconds are left, after a wait that may have been long
	}
	return token, err
}

// An AccessTokenOption is one of [OfAccount].
type AccessTokenOption func(*accessTokenOptions)

type accessTokenOptions struct{ providerAccountID string }

// OfAccount names one of several accounts of a user at a provider, by
// [Account.ProviderAccountID].
func OfAccount(providerAccountID string) AccessTokenOption {
	return func(o *accessTokenOptions) { o.providerAccountID = providerAccountID }
}

// fresh reports whether the access token is good at a time.
func fresh(a *Account, at time.Time) bool {
	return a.AccessToken != "" && (a.ExpiresAt == 0 || at.Before(time.Unix(a.ExpiresAt, 0)))
}

// checkRefreshable reports why the tokens of an account cannot be refreshed.
func (s *Service) checkRefreshable(a *Account) error {
	_, able := s.flows[a.Provider].(tokenFlow)
	switch {
	case a.RefreshToken == refusedToken:
		return ErrTokenRefused
	case a.RefreshToken != "" && able && !s.tokens.discard: // what came could not be kept
		return nil
	case s.tokens.discard:
		return fmt.Errorf("%w: Config.ProviderTokens is drop, so none are kept", ErrNoToken)
	}
	return ErrNoToken
}

// account returns one account of a user with its tokens readable, its refresh
// token being refusedToken if it was refused, and as it is stored. With no id
// there must be one.
func (s *Service) account(ctx context.Context, userID, provider, id string) (a, stored Account, err error) {
	all, err := s.adapter.ListAccounts(ctx, userID)
	switch {
	case errors.Is(err, errNoStorage):
		return Account{}, Account{}, err
	case err != nil:
		return Account{}, Account{}, fmt.Errorf("%w: %w", errStore, err)
	}
	var found []Account
	for _, a := range all {
		if a.Provider == provider && (id == "" || a.ProviderAccountID == id) {
			found = append(found, a)
		}
	}
	switch len(found) {
	case 0:
		return Account{}, Account{}, ErrNotFound
	case 1:
		a, stored = s.readAccount(ctx, found[0])
		return a, stored, nil
	}
	return Account{}, Account{}, fmt.Errorf("authsvc: the user has %d accounts at %s; name one", len(found), provider)
}
