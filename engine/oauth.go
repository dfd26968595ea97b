package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/seal"
	"authsvc/internal/text/pages"
	"authsvc/internal/text/profilepath"
)

// forwardedParams are the query parameters of POST signin/:provider that reach the
// authorization request. The browser must not set parameters that decide where a code
// goes or what it is bound to.
var forwardedParams = []string{"login_hint", "prompt", "ui_locales", "hd", "domain_hint", "acr_values", "max_age", "screen_hint"}

// initiatedParams are the parameters of GET signin/:provider that reach the authorization
// request (OpenID Connect Core §4).
var initiatedParams = []string{"login_hint"}

// maxForwarded limits a forwarded parameter, in bytes. A longer one is left out.
const maxForwarded = 512

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

// begin starts an attempt for the caller's parameters.
func (f *oauthFlow) begin(rq *request) outcome {
	tx, out := f.room.desk.newAttempt(rq, f.remote())
	if out != nil {
		return out
	}
	var caller map[string]string
	names := forwardedParams
	if rq.body == nil { // the provider, or anyone who poses as the provider, began it
		names = initiatedParams
	}
	for _, name := range names {
		if s := rq.query(name); s != "" && len(s) <= maxForwarded {
			if caller == nil {
				caller = map[string]string{}
			}
			caller[name] = s
		}
	}
	tx.keepParams(caller)
	return f.ask(rq, tx, caller)
}

// ask redirects to the provider with the Authorization Request (RFC 6749 §4.1.1,
// OpenID Connect Core §3.1.2.1).
func (f *oauthFlow) ask(rq *request, tx *transaction, caller map[string]string) outcome {
	defer startProviderTimeout(rq)()
	params := f.params(caller, tx)
	var err error
	if tx.MaxAge, err = requestedMaxAge(params); err != nil {
		return fail(authsvc.CodeOAuthSignin, err)
	}
	ask := oidc.AuthRequest{RedirectURI: f.redirectURI, Scope: f.Scope, ResponseMode: f.ResponseMode, Params: params,
		Fragment: f.AuthorizationFragment}
	if f.Hooks.Authorize != nil {
		ask.Change = func(q url.Values) error {
			_, err := callHook(rq, "Authorize", func() (struct{}, error) { f.Hooks.Authorize(q); return struct{}{}, nil })
			return err
		}
	}
	if f.pkce {
		tx.Verifier = seal.Token()
		ask.CodeChallenge = seal.Digest(tx.Verifier) // S256 (RFC 7636 §4.2)
	}
	if f.nonce {
		tx.Nonce = seal.Token()
		ask.Nonce = tx.Nonce
	}
	if err := f.room.desk.startTx(rq, tx); err != nil {
		return err
	}
	if f.state {
		ask.State = tx.State
	}
	to, err := f.oidc.AuthorizationURL(rq.ctx, ask)
	if err != nil {
		rq.expireCookie(f.room.desk.txName(tx.State), "")
		return fail(authsvc.CodeOAuthSignin, f.explain(err))
	}
	return redirect{to: to}
}

// requestedMaxAge returns the max_age of an authorization request, or nil if it has
// none. The attempt seals the value, so the client cannot drop it at the return.
func requestedMaxAge(params url.Values) (*int64, error) {
	if !params.Has("max_age") {
		return nil, nil
	}
	seconds, err := parseMaxAge(params.Get("max_age"))
	return &seconds, err
}

// parseMaxAge parses a number of seconds.
func parseMaxAge(s string) (int64, error) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, errMaxAge
	}
	return int64(n), nil
}

// maxAge returns how old auth_time may be now: the requested age, which the provider
// applied at the start of the attempt, plus the time since. It returns 0 if no age was
// requested.
//
// https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation
func (tx *transaction) maxAge(now time.Time) time.Duration {
	if tx.MaxAge == nil {
		return 0
	}
	start := time.Unix(tx.Expires, 0).Add(-txLifetime)
	return max(time.Duration(*tx.MaxAge)*time.Second+now.Sub(start), 1)
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
