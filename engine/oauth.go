package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"authsvc"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/text/pages"
	"authsvc/internal/text/profilepath"
)

// oauthFlow is a compiled *OAuth.
type oauthFlow struct {
	authsvc.OAuth
	room               *oauthRoom
	oidc               *oidc.Client
	secrets            *clientSecrets // nil: the secret is Client.Secret
	mapping            mapping
	userInfoHeaders    map[string]string // Headers and UserInfo.Headers
	redirectURI        string
	openID             bool
	wire               info
	state, pkce, nonce bool // the checks to make
}

func (f *oauthFlow) info() info { return f.wire }

// check fetches the provider's metadata.
func (f *oauthFlow) check(ctx context.Context) error {
	_, err := f.oidc.Metadata(ctx)
	if err == nil {
		return nil
	}
	fix := f.checkIssuer()
	var m *operatorMistake
	if errors.As(f.explain(err), &m) {
		fix = m.fix
	}
	return fmt.Errorf("%w; %s", err, fix)
}

// remote identifies the provider by its issuer, or by its token endpoint if it has
// none.
func (f *oauthFlow) remote() remote {
	return remote{f.ID, cmp.Or(f.Issuer, f.Endpoints.Token), f.redirectURI}
}

// complete handles the Authorization Response (RFC 6749 §4.1.2), up to the profile.
func (f *oauthFlow) complete(rq *request) outcome {
	defer startProviderTimeout(rq)()
	post := rq.r.Method == http.MethodPost
	switch {
	case !post && isPrefetch(rq.r.Header):
		return notPrefetched
	case post && !f.wire.formPost:
		return rq.notCallback(http.MethodGet)
	case !post && f.wire.formPost:
		f.room.desk.dropTx(rq, rq.query("state"))
		return fail(authsvc.CodeOAuthCallback, fixedReason("the provider answers by form_post, but the callback was a GET"))
	case post && !rq.reposted():
		return f.repost(rq)
	}
	a := readCodeResponse(rq)
	if !f.state && a.state == "" {
		a.state = f.room.desk.latestState(rq)
	}
	response := a.authResponse
	response.denied = a.denied && !f.pageExpired(a.refusal) // an attempt that begins again is used up, also without a store
	var expired *transaction
	out := f.room.desk.finishAttempt(rq, f.remote(), response, func(tx *transaction) (identity, error) {
		if !tx.Repeated && f.pageExpired(a.refusal) {
			expired = tx
		}
		id, err := f.identify(rq, tx, a)
		return id, f.explain(err)
	})
	if expired != nil {
		return f.repeat(rq, *expired, a.refusal)
	}
	return out
}

// repost answers a form_post response with a page that posts it again from our own
// site. The response itself comes from another site and so without Lax cookies.
func (f *oauthFlow) repost(rq *request) outcome {
	v := pages.RepostView{Action: f.redirectURI}
	for _, name := range []string{"code", "state", "iss", "user", "error", "error_description"} {
		if s := rq.body.get(name); s != "" && len(s) <= 16<<10 {
			v.Fields = append(v.Fields, [2]string{name, s})
		}
	}
	return page{name: pages.Repost, view: v}
}

// A codeResponse is the Authorization Response of OAuth 2.
type codeResponse struct {
	authResponse
	code, iss string
	refusal   refusalText
}

// readCodeResponse reads each parameter at most once; tokens are never read.
func readCodeResponse(rq *request) (a codeResponse) {
	read := func(name string) string { return responseParam(rq, &a.authResponse, name) }
	a.code, a.state, a.iss = read("code"), read("state"), read("iss")
	a.refusal = refusalText{read("error"), read("error_description")}
	a.denied = a.refusal.code != ""
	switch {
	case a.err != nil:
	case a.code != "" && a.denied:
		a.err = errors.New("the response has both code and error")
	case len(a.code) > 4096 || strings.ContainsFunc(a.code, func(r rune) bool { return r < ' ' || r == 0x7f }):
		a.err = errors.New("the code is malformed")
	}
	return a
}

// identify exchanges the code and finds out who the person is.
func (f *oauthFlow) identify(rq *request, tx *transaction, a codeResponse) (identity, error) {
	if a.denied {
		return identity{}, f.refusal(a.refusal)
	}
	var iss []string
	if a.iss != "" {
		iss = []string{a.iss}
	}
	if err := f.oidc.CheckIssuer(rq.ctx, iss); err != nil {
		return identity{}, err
	}
	if a.code == "" && f.Hooks.ExchangeCode == nil {
		return identity{}, errors.New("no code")
	}
	x, err := f.exchange(rq, tx, a.code)
	if err != nil {
		return identity{}, err
	}
	if x.Internal().Tokens, err = f.redeem(rq, x); err != nil {
		return identity{}, err
	}
	x.Tokens = authsvc.Profile(x.Internal().Tokens.Answer)
	profile, err := f.profile(rq, x, tx)
	if err != nil {
		return identity{}, err
	}
	return f.identity(rq, profile, x)
}

// profile returns the ID token's claims, the userinfo answer, or both.
func (f *oauthFlow) profile(rq *request, x *authsvc.Exchange, tx *transaction) (authsvc.Profile, error) {
	var claims oidc.Claims
	var err error
	sub := ""
	if f.openID {
		claims, err = f.oidc.VerifyIDToken(rq.ctx, x.Internal().Tokens.IDToken, oidc.IDTokenCheck{Nonce: tx.Nonce, AccessToken: x.Internal().Tokens.AccessToken,
			MaxAge: tx.maxAge(rq.now)})
		if err != nil {
			return nil, err
		}
		sub, _ = claims.String("sub")
		x.Claims, x.Internal().AuthTime = authsvc.Profile(claims), claims.AuthTime()
	}
	switch {
	case f.Hooks.UserInfo != nil:
		return callHook(rq, "UserInfo", func() (authsvc.Profile, error) { return f.Hooks.UserInfo(rq.ctx, x) })
	case f.openID && !f.UserInfo.AddClaims:
		return authsvc.Profile(claims), nil
	}
	more, err := f.oidc.UserInfo(rq.ctx, x.Internal().Tokens, sub)
	if err != nil {
		return nil, err
	}
	return authsvc.Profile(mergeClaims(claims, more)), nil
}

// mergeClaims adds userinfo claims to the ID token's claims, which take precedence.
// email and email_verified always come from the same place.
func mergeClaims(claims, more oidc.Claims) oidc.Claims {
	if claims == nil {
		return more
	}
	if email, ok := claims["email"]; !ok {
		delete(claims, "email_verified")
	} else if email != more["email"] {
		delete(more, "email_verified")
	}
	for name, v := range more {
		if _, signed := claims[name]; !signed {
			claims[name] = v
		}
	}
	return claims
}

// identity maps a profile to the user that login looks for.
func (f *oauthFlow) identity(rq *request, p authsvc.Profile, x *authsvc.Exchange) (identity, error) {
	tokens := x.Internal().Tokens
	id, err := f.mapping.identity(rq, profilepath.Roots{Profile: p, Token: tokens.Answer})
	if err != nil {
		return identity{}, err
	}
	a := &id.account
	a.ProviderAccountID, id.former = f.accountID(x.Claims, a.ProviderAccountID)
	if len(a.ProviderAccountID) > maxProviderID {
		return identity{}, errors.New("the id in the profile is too long to prefix it with the tenant")
	}
	a.AccessToken, a.RefreshToken, a.IDToken = tokens.AccessToken, tokens.RefreshToken, tokens.IDToken
	a.ExpiresAt, a.TokenType, a.Scope = f.room.fleet.ToStoreTime(tokens.ExpiresAt), tokens.TokenType, cmp.Or(tokens.Scope, f.Scope)
	a.SessionState = tokens.SessionState
	id.authTime, id.cannotAsk = x.Internal().AuthTime, !f.wire.reauthenticates
	return id, nil
}
