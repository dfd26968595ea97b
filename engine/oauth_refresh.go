package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"authsvc"
	"authsvc/internal/protocol/oidc"
)

// exchangeWithoutBrowser makes an Exchange for stored tokens, without a browser's
// request.
func (f *oauthFlow) exchangeWithoutBrowser(ctx context.Context) (*request, *authsvc.Exchange, error) {
	rq := &request{site: f.room.site, ctx: ctx, flow: f, now: f.room.fleet.Now()}
	x, err := f.exchange(rq, &transaction{}, "")
	if err != nil {
		return nil, nil, err
	}
	x.Callback = func(string) string { return "" }
	return rq, x, nil
}

// refresh renews the tokens of an account (RFC 6749 §6).
func (f *oauthFlow) refresh(ctx context.Context, a authsvc.Account) (authsvc.Account, error) {
	if f.Hooks.ExchangeCode != nil && f.Hooks.RefreshTokens == nil {
		return authsvc.Account{}, fmt.Errorf("%w: %s cannot refresh tokens", authsvc.ErrNoToken, f.ID)
	}
	rq, x, err := f.exchangeWithoutBrowser(ctx)
	if err != nil {
		return authsvc.Account{}, err
	}
	with := oidc.Refresh{RefreshToken: a.RefreshToken, Secret: x.Client.Secret, Conform: f.conform(rq)}
	var tokens *oidc.Tokens
	if f.Hooks.RefreshTokens == nil {
		tokens, err = f.oidc.Refresh(ctx, with)
	} else {
		x.Tokens = authsvc.Profile{"refresh_token": a.RefreshToken, "access_token": a.AccessToken, "scope": a.Scope, "session_state": a.SessionState}
		var got authsvc.Profile
		if got, err = callHook(rq, "RefreshTokens", func() (authsvc.Profile, error) { return f.Hooks.RefreshTokens(ctx, x) }); err == nil {
			tokens, err = f.oidc.ParseRefreshed(oidc.Claims(got), with)
		}
	}
	if err != nil {
		return authsvc.Account{}, f.explain(err)
	}
	return f.withTokens(ctx, a, tokens)
}

// withTokens returns the account with the tokens of a refresh. It leaves out an ID
// token that does not verify. If the ID token is about another person, or for another
// issuer or client, withTokens returns an error.
func (f *oauthFlow) withTokens(ctx context.Context, a authsvc.Account, t *oidc.Tokens) (authsvc.Account, error) {
	was := oidc.UnverifiedSubject(a.IDToken)
	if t.IDToken != "" && f.openID && was.ID != "" {
		got, err := f.oidc.VerifyRefreshed(ctx, t)
		switch {
		case errors.Is(err, oidc.ErrMisaddressed):
			return authsvc.Account{}, err
		case err != nil: // the access token is valid without it
			f.room.Log.Warn("the ID token of a refresh is ignored", "provider", f.ID, "cause", err)
		case got.ID != was.ID, got.Issuer != was.Issuer && oidc.MultiTenant(f.Issuer): // otherwise the operator may have moved the issuer
			return authsvc.Account{}, errWrongSubject
		default:
			a.IDToken = t.IDToken
		}
	}
	a.AccessToken, a.ExpiresAt, a.TokenType = t.AccessToken, f.room.fleet.ToStoreTime(t.ExpiresAt), t.TokenType
	a.RefreshToken = cmp.Or(t.RefreshToken, a.RefreshToken)
	a.Scope = cmp.Or(t.Scope, a.Scope)
	a.SessionState = cmp.Or(t.SessionState, a.SessionState)
	return a, nil
}

// revoke makes a token of an account invalid at the provider (RFC 7009).
func (f *oauthFlow) revoke(ctx context.Context, a authsvc.Account, token, hint string) error {
	rq, x, err := f.exchangeWithoutBrowser(ctx)
	if err != nil {
		return err
	}
	if f.Hooks.RevokeToken != nil {
		x.Tokens = authsvc.Profile{"session_state": a.SessionState}
		_, err := callHook(rq, "RevokeToken", func() (struct{}, error) { return struct{}{}, f.Hooks.RevokeToken(ctx, x, token, hint) })
		return err
	}
	return f.oidc.Revoke(ctx, token, hint, x.Client.Secret)
}
