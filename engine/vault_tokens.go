package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/engine/internal/fleet"
	"authsvc/internal/seal"
	"authsvc/internal/text"
)

// A tokenStorage defines how tokens of identity providers are stored.
type tokenStorage struct {
	box     *seal.Box
	seal    bool // encrypt tokens; false: store them as they are
	discard bool // store no tokens
}

// sealedToken is the prefix of sealed tokens. No provider's token has it, so it tells
// sealed tokens from plain ones.
const sealedToken = "authsvc.sealed."

// refusedToken replaces a stored refresh token that the provider refused, so that the
// token is not presented again: some providers then block the client. No provider's
// token begins with it.
const refusedToken = "authsvc.refused"

// checkTokenStorage reads Config.ProviderTokens.
func checkTokenStorage(b *builder, s *vault) {
	s.tokens.seal = s.site.dialect.sealsTokens
	switch b.config.ProviderTokens {
	case "":
	case authsvc.ProviderTokensSealed:
		s.tokens.seal = true
	case authsvc.ProviderTokensPlain:
		s.tokens.seal = false
	case authsvc.ProviderTokensDrop:
		s.tokens.discard = true
	default:
		b.fail("ProviderTokens", fmt.Sprintf("%q is not known", text.Printable(string(b.config.ProviderTokens), 30)), "use sealed, plain or drop")
	}
}

// forStorage returns the account with its tokens in their stored form.
func (v *tokenStorage) forStorage(a authsvc.Account) authsvc.Account {
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

// sealToken binds a token to its account and field, so that it cannot be moved
// to another row.
func (v *tokenStorage) sealToken(token string, a *authsvc.Account, name string) string {
	return sealedToken + v.box.Seal(token, a.Provider, a.ProviderAccountID, name)
}

// open returns a stored account with its tokens opened, for events and revocation. It
// works like read, but leaves out refusedToken.
func (v *tokenStorage) open(stored authsvc.Account) (a authsvc.Account, lost []string) {
	a, _, lost = v.read(stored)
	withoutRefused(&a)
	return a, lost
}

// read returns a stored account with its tokens opened, including refusedToken. If a
// token cannot be opened, it is empty and lost names it. renewed is the stored account
// in which tokens that an older secret sealed have their current form. Tokens that
// cannot be opened stay in it, because the secret may come back.
func (v *tokenStorage) read(stored authsvc.Account) (a, renewed authsvc.Account, lost []string) {
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

func withoutRefused(a *authsvc.Account) {
	if a.RefreshToken == refusedToken {
		a.RefreshToken = ""
	}
}

// tokensOf returns pointers to the tokens of an account by name.
func tokensOf(a *authsvc.Account) map[string]*string {
	return map[string]*string{"refresh_token": &a.RefreshToken, "access_token": &a.AccessToken, "id_token": &a.IDToken}
}

// Accounts implements [People.Accounts].
func (vt *vault) Accounts(ctx context.Context, userID string) ([]authsvc.Account, error) {
	stored, err := vt.Adapter.ListAccounts(ctx, userID)
	if err != nil {
		return nil, err
	}
	list := make([]authsvc.Account, len(stored))
	for i, one := range stored {
		list[i], _ = vt.readAccount(ctx, one)
		withoutRefused(&list[i])
	}
	return list, nil
}

// readAccount reads an account as tokenStorage.read does. If an older secret sealed
// tokens, readAccount stores them in their current form, so that the old secret can be
// removed. It does not do so if the tokens were replaced meanwhile or the store fails.
// current is the account as it is then stored.
func (vt *vault) readAccount(ctx context.Context, stored authsvc.Account) (a, current authsvc.Account) {
	a, renewed, lost := vt.tokens.read(stored)
	vt.logLost(a, lost)
	if renewed == stored {
		return a, stored
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	switch err := vt.Adapter.ReplaceTokens(ctx, renewed, stored); {
	case err == nil:
		return a, renewed
	case !errors.Is(err, adapter.ErrStale) && !errors.Is(err, adapter.ErrNotFound):
		vt.Log.Warn("cannot reseal tokens that an older secret sealed", "provider", a.Provider, "user", a.UserID, "cause", err)
	}
	return a, stored
}

// logLost logs which tokens of an account cannot be opened.
func (vt *vault) logLost(a authsvc.Account, lost []string) {
	if len(lost) > 0 {
		vt.Log.Warn("cannot open the tokens of an account: the secret that sealed them is no longer configured, or the row was changed; the next sign-in replaces them",
			"provider", a.Provider, "user", a.UserID, "tokens", lost)
	}
}

// tokenMargin is how long before its expiry an access token is renewed. It gives
// callers time to use the token that AccessToken returns.
const tokenMargin = time.Minute

// A tokenFlow is a flow whose accounts have tokens that can be refreshed and
// revoked.
type tokenFlow interface {
	// refresh returns a with new tokens. For a refusal, the error satisfies
	// oidc.IsInvalidGrant or is ErrTokenRefused.
	refresh(ctx context.Context, a authsvc.Account) (authsvc.Account, error)
	// revoke makes a token of an account invalid at the provider.
	revoke(ctx context.Context, a authsvc.Account, token, hint string) error
}

// AccessToken implements [People.AccessToken].
func (vt *vault) AccessToken(ctx context.Context, userID, provider string, options *AccessTokenOptions) (string, error) {
	if options == nil {
		options = &AccessTokenOptions{}
	}
	a, _, err := vt.account(ctx, userID, provider, options.ProviderAccountID)
	if err != nil {
		return "", err
	}
	now := vt.fleet.Now()
	if fresh(&a, now.Add(tokenMargin)) {
		return a.AccessToken, nil
	}
	if err := vt.checkRefreshable(&a); err != nil {
		if fresh(&a, now) && !errors.Is(err, authsvc.ErrTokenRefused) {
			return a.AccessToken, nil
		}
		return "", err
	}
	token, err := vt.refreshAccessToken(ctx, a)
	if err != nil && fresh(&a, vt.fleet.Now()) && !errors.Is(err, authsvc.ErrTokenRefused) && ctx.Err() == nil {
		return a.AccessToken, nil // the stored token is still valid for some seconds; the wait may have been long
	}
	return token, err
}

// AccessTokenOptions are the options of [People.AccessToken].
type AccessTokenOptions struct {
	// ProviderAccountID names one of several accounts of the user at the provider, as
	// [authsvc.Account.ProviderAccountID]. If it is empty, the user must have only one
	// account there.
	ProviderAccountID string
}

// fresh reports whether the access token is valid at a time.
func fresh(a *authsvc.Account, at time.Time) bool {
	return a.AccessToken != "" && (a.ExpiresAt == 0 || at.Before(time.Unix(a.ExpiresAt, 0)))
}

// checkRefreshable returns why the tokens of an account cannot be refreshed, or nil if
// they can.
func (vt *vault) checkRefreshable(a *authsvc.Account) error {
	_, able := vt.site.flows[a.Provider].(tokenFlow)
	switch {
	case a.RefreshToken == refusedToken:
		return authsvc.ErrTokenRefused
	case a.RefreshToken != "" && able && !vt.tokens.discard: // otherwise the new ones could not be stored
		return nil
	case vt.tokens.discard:
		return fmt.Errorf("%w: Config.ProviderTokens is drop, so none are kept", authsvc.ErrNoToken)
	}
	return authsvc.ErrNoToken
}

// account returns an account of a user at a provider, with its tokens opened (see read)
// and as it is stored. If id is empty, the user must have exactly one account there.
// Errors: ErrNotFound, fleet.ErrNoStorage, fleet.ErrStore.
func (vt *vault) account(ctx context.Context, userID, provider, id string) (a, stored authsvc.Account, err error) {
	all, err := vt.Adapter.ListAccounts(ctx, userID)
	switch {
	case errors.Is(err, fleet.ErrNoStorage):
		return authsvc.Account{}, authsvc.Account{}, err
	case err != nil:
		return authsvc.Account{}, authsvc.Account{}, fleet.StoreFailed(err)
	}
	var found []authsvc.Account
	for _, a := range all {
		if a.Provider == provider && (id == "" || a.ProviderAccountID == id) {
			found = append(found, a)
		}
	}
	switch len(found) {
	case 0:
		return authsvc.Account{}, authsvc.Account{}, adapter.ErrNotFound
	case 1:
		a, stored = vt.readAccount(ctx, found[0])
		return a, stored, nil
	}
	return authsvc.Account{}, authsvc.Account{}, fmt.Errorf("authsvc: the user has %d accounts at %s; name one", len(found), provider)
}

func (vt *vault) deriveKeys(ring *seal.Ring) { vt.tokens.box = ring.Box("provider tokens") }
