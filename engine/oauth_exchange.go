package engine

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"authsvc"
	"authsvc/internal/protocol/exchange"
	"authsvc/internal/protocol/oidc"
)

// callHook calls a hook of the provider and returns a panic as an error.
func callHook[T any](rq *request, name string, call func() (T, error)) (v T, err error) {
	defer rq.fleet.Recovered(name+" of provider "+rq.providerID(), func() {
		var none T
		v, err = none, errors.New(name+" panicked")
	})
	return call()
}

// exchange makes the Exchange for the hooks.
func (f *oauthFlow) exchange(rq *request, tx *transaction, code string) (*authsvc.Exchange, error) {
	c := f.Client
	c.PrivateKey = "" // hooks do not need it
	if f.secrets != nil {
		var err error
		if c.Secret, err = callHook(rq, "ClientSecret", func() (string, error) { return f.secrets.get(rq.ctx) }); err != nil {
			return nil, fmt.Errorf("client secret: %w", err)
		}
	}
	x := &authsvc.Exchange{Client: c, Code: code, RedirectURI: tx.RedirectURI, Verifier: tx.Verifier, State: tx.State, Callback: rq.callbackParam}
	*x.Internal() = exchange.State{Calls: f.oidc.Outbound(), JWTs: f.oidc.JWTs(), OIDC: f.oidc, Headers: f.Headers, UserInfoHeaders: f.userInfoHeaders}
	return x, nil
}

// maxCallbackParam limits a callback parameter for hooks, in bytes.
const maxCallbackParam = 16 << 10

func (rq *request) callbackParam(name string) string {
	var r authResponse
	v := responseParam(rq, &r, name)
	if r.err != nil || len(v) > maxCallbackParam || !utf8.ValidString(v) {
		return ""
	}
	return v
}

// redeem exchanges the code for tokens.
func (f *oauthFlow) redeem(rq *request, x *authsvc.Exchange) (*oidc.Tokens, error) {
	g := oidc.Grant{Code: x.Code, RedirectURI: x.RedirectURI, Verifier: x.Verifier, Secret: x.Client.Secret, Conform: f.conform(rq)}
	if f.Hooks.ExchangeCode == nil {
		return f.oidc.Exchange(rq.ctx, g)
	}
	answer, err := callHook(rq, "ExchangeCode", func() (authsvc.Profile, error) { return f.Hooks.ExchangeCode(rq.ctx, x) })
	if err != nil {
		return nil, fmt.Errorf("token request: %w", err)
	}
	return f.oidc.ParseTokens(oidc.Claims(answer), g)
}

// conform returns Hooks.ConformTokens for answers of the token endpoint, or nil.
func (f *oauthFlow) conform(rq *request) func(oidc.Claims) (oidc.Claims, error) {
	if f.Hooks.ConformTokens == nil {
		return nil
	}
	return func(answer oidc.Claims) (oidc.Claims, error) {
		p, err := callHook(rq, "ConformTokens", func() (authsvc.Profile, error) { return f.Hooks.ConformTokens(authsvc.Profile(answer)) })
		return oidc.Claims(p), err
	}
}
