package authsvc

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"authsvc/internal/oidc"
)

// guarded calls a function of a provider's. A panic is an error.
func guarded[T any](rq *request, name string, call func() (T, error)) (v T, err error) {
	defer rq.recovered(name+" of provider "+rq.providerID(), func() {
		var none T
		v, err = none, errors.New(name+" panicked")
	})
	return call()
}

// exchange is what the functions see of a sign-in.
func (f *oauthFlow) exchange(rq *request, tx *transaction, a answer) (*Exchange, error) {
	c := f.Client
	c.PrivateKey = "" // no function has a use for it
	if f.secrets != nil {
		var err error
		if c.Secret, err = guarded(rq, "ClientSecret", func() (string, error) { return f.secrets.get(rq.ctx) }); err != nil {
			return nil, fmt.Errorf("client secret: %w", err)
		}
	}
	return &Exchange{Client: c, Code: a.code, RedirectURI: tx.RedirectURI, Verifier: tx.Verifier, State: tx.State,
		Callback: rq.callbackParam, calls: f.oidc.Outbound(), jwts: f.oidc.JWTs(), oidc: f.oidc, headers: f.Headers, userInfoHeaders: f.userInfoHeaders}, nil
}

// maxCallbackParam bounds what the browser may hand to a provider's function.
const maxCallbackParam = 16 << 10

func (rq *request) callbackParam(name string) string {
	v, twice := rq.answered(name)
	if twice || len(v) > maxCallbackParam || !utf8.ValidString(v) {
		return ""
	}
	return v
}

// redeem turns the code into tokens.
func (f *oauthFlow) redeem(rq *request, x *Exchange) (*oidc.Tokens, error) {
	g := oidc.Grant{Code: x.Code, RedirectURI: x.RedirectURI, Verifier: x.Verifier, Secret: x.Client.Secret, Conform: f.conform(rq)}
	if f.ExchangeCode == nil {
		return f.oidc.Exchange(rq.ctx, g)
	}
	answer, err := guarded(rq, "ExchangeCode", func() (Profile, error) { return f.ExchangeCode(rq.ctx, x) })
	if err != nil {
		return nil, fmt.Errorf("token request: %w", err)
	}
	return f.oidc.ParseTokens(oidc.Claims(answer), g)
}

// conform is ConformTokens for answers of the token endpoint; nil without.
func (f *oauthFlow) conform(rq *request) func(oidc.Claims) (oidc.Claims, error) {
	if f.ConformTokens == nil {
		return nil
	}
	return func(answer oidc.Claims) (oidc.Claims, error) {
		p, err := guarded(rq, "ConformTokens", func() (Profile, error) { return f.ConformTokens(Profile(answer)) })
		return oidc.Claims(p), err
	}
}
