package authsvc

import (
	"context"
	"errors"
	"fmt"
	"time"
)

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

// A tokenKeeper is a flow whose accounts have tokens that can be renewed and
// revoked.
type tokenKeeper interface {
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
// again. A user with several accounts at the provider needs AccessTokenOf.
func (s *Service) AccessToken(ctx context.Context, userID, provider string) (string, error) {
	return s.AccessTokenOf(ctx, userID, provider, "")
}

// AccessTokenOf is AccessToken for one of several accounts at a provider.
func (s *Service) AccessTokenOf(ctx context.Context, userID, provider, providerAccountID string) (string, error) {
	a, _, err := s.account(ctx, userID, provider, providerAccountID)
	if err != nil {
		return "", err
	}
	now := s.now()
	if fresh(&a, now.Add(tokenMargin)) {
		return a.AccessToken, nil
	}
	if err := s.renewable(&a); err != nil {
		if fresh(&a, now) && !errors.Is(err, ErrTokenRefused) {
			return a.AccessToken, nil
		}
		return "", err
	}
	token, err := s.refreshed(ctx, a)
	if err != nil && fresh(&a, s.now()) && !errors.Is(err, ErrTokenRefused) && ctx.Err() == nil {
		return a.AccessToken, nil // some seconds are left, after a wait that may have been long
	}
	return token, err
}

// fresh reports whether the access token is good at a time.
func fresh(a *Account, at time.Time) bool {
	return a.AccessToken != "" && (a.ExpiresAt == 0 || at.Before(time.Unix(a.ExpiresAt, 0)))
}

// renewable tells why the tokens of an account cannot be refreshed.
func (s *Service) renewable(a *Account) error {
	_, able := s.flows[a.Provider].(tokenKeeper)
	switch {
	case a.RefreshToken == refusedToken:
		return ErrTokenRefused
	case a.RefreshToken != "" && able && !s.vault.drop: // what came could not be kept
		return nil
	case s.vault.drop:
		return fmt.Errorf("%w: Config.ProviderTokens (storage.provider_tokens) is drop, so none are kept", ErrNoToken)
	}
	return ErrNoToken
}

// account returns one account of a user with its tokens readable, its refresh
// token being refusedToken if it was refused, and as it is stored. With no id
// there must be one.
func (s *Service) account(ctx context.Context, userID, provider, id string) (a, stored Account, err error) {
	if s.adapter == nil {
		return Account{}, Account{}, errors.New("authsvc: without storage no accounts are kept")
	}
	all, err := s.adapter.ListAccounts(ctx, userID)
	if err != nil {
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
