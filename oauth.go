package authsvc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"authsvc/internal/oidc"
	"authsvc/internal/seal"
)

// passOn are the query parameters of POST signin/:provider that reach the
// authorization request. Everything that decides where a code goes or what it
// is bound to stays out of the browser's hands.
var passOn = []string{"login_hint", "prompt", "ui_locales", "hd", "domain_hint", "acr_values", "max_age", "screen_hint"}

// oauthFlow is a compiled *OAuth.
type oauthFlow struct {
	OAuth
	party              *oidc.Party
	redirectURI        string
	openID             bool
	wire               info
	state, pkce, nonce bool // the checks that are made
}

func (f *oauthFlow) info() info { return f.wire }

// begin: the Authorization Request (RFC 6749 §4.1.1, OpenID Connect Core §3.1.2.1).
func (f *oauthFlow) begin(rq *request) outcome {
	linkTo, out := rq.linkIntent()
	if out != nil {
		return out
	}
	tx := &transaction{Provider: f.ID, Issuer: f.Issuer, RedirectURI: f.redirectURI,
		CallbackURL: rq.callbackURL(), LinkTo: linkTo}
	ask := oidc.AuthRequest{RedirectURI: f.redirectURI, Scope: f.Scope, ResponseMode: f.ResponseMode, Params: f.params(rq)}
	if f.pkce {
		tx.Verifier = seal.Token()
		ask.CodeChallenge = seal.Digest(tx.Verifier) // S256 (RFC 7636 §4.2)
	}
	if f.nonce {
		tx.Nonce = seal.Token()
		ask.Nonce = tx.Nonce
	}
	if err := rq.startTx(tx); err != nil {
		return err
	}
	if f.state {
		ask.State = tx.State
	}
	to, err := f.party.AuthorizationURL(rq.ctx, ask)
	if err != nil {
		rq.expireCookie(rq.txName(tx.State), "")
		return fail(OAuthSignin, err)
	}
	return redirect{to: to}
}

// params are the operator's parameters and what the caller may add.
func (f *oauthFlow) params(rq *request) url.Values {
	v := url.Values{}
	for _, name := range passOn {
		if s := rq.query(name); s != "" && len(s) <= 512 {
			v.Set(name, s)
		}
	}
	for name, s := range f.AuthorizationParams {
		v.Set(name, s)
	}
	return v
}

// linkIntent returns the id of the user who asks to add an identity, "" if
// this is a plain sign-in. In compat modes being signed in is the wish.
func (rq *request) linkIntent() (string, outcome) {
	asked := rq.body.get("link") == "true"
	if rq.adapter == nil || !asked && rq.compat == CompatNone {
		return "", nil
	}
	s, err := rq.current()
	switch {
	case err != nil:
		return "", storeFailed(OAuthSignin, err)
	case s != nil:
		return s.UserID, nil
	case asked:
		return "", fail(SessionRequired, errors.New("link was asked for without a session"))
	}
	return "", nil
}

// complete: the Authorization Response (RFC 6749 §4.1.2) up to the profile.
func (f *oauthFlow) complete(rq *request) outcome {
	post := rq.r.Method == http.MethodPost
	switch {
	case !post && isPrefetch(rq.r.Header):
		return problem{status: http.StatusServiceUnavailable, text: "not to be prefetched"}
	case post && !f.wire.formPost:
		return rq.notAllowed(&route{get: callback})
	case !post && f.wire.formPost:
		return fail(OAuthCallback, errors.New("a GET came back to a provider that answers by form_post"))
	case post && rq.body.get("repost") != "1":
		return f.repost(rq)
	}
	answer, err := readAnswer(rq)
	if err != nil {
		rq.dropTx(answer.state)
		return fail(OAuthCallback, err)
	}
	if !f.state && answer.state == "" {
		answer.state = rq.latestState()
	}
	tx, refused := rq.finishTx(answer.state)
	if refused != nil {
		return refused
	}
	if tx.Issuer != f.Issuer || tx.RedirectURI != f.redirectURI {
		return fail(OAuthCallback, errors.New("the provider's issuer or address was changed since the attempt began"))
	}
	if answer.err != "" {
		if answer.err == "access_denied" {
			return fail(AccessDenied, errors.New("the person or the provider said no"))
		}
		return fail(OAuthCallback, fmt.Errorf("the provider answered with error %q", printable(answer.err, 60)))
	}
	id, err := f.identify(rq.ctx, tx, answer)
	if err != nil {
		return fail(OAuthCallback, err)
	}
	id.callbackURL, id.linkTo = tx.CallbackURL, tx.LinkTo
	return id
}

// repost answers a form_post response, which comes from another site and so
// without Lax cookies, by a page that posts it again from our own.
func (f *oauthFlow) repost(rq *request) outcome {
	v := repostView{Action: f.redirectURI}
	for _, name := range []string{"code", "state", "iss", "user", "error", "error_description"} {
		if s := rq.body.get(name); s != "" && len(s) <= 16<<10 {
			v.Fields = append(v.Fields, [2]string{name, s})
		}
	}
	return page{name: pageRepost, view: v}
}

// answer is what a provider sent through the browser.
type answer struct{ code, state, err, iss string }

// readAnswer reads each parameter at most once; tokens are never read. With an
// error, the state is still set if it came.
func readAnswer(rq *request) (a answer, err error) {
	read := func(name string) string {
		if rq.body != nil {
			return rq.body.get(name)
		}
		v := rq.queryValues()[name]
		if len(v) > 1 {
			err = fmt.Errorf("parameter %s came twice", name)
		}
		if len(v) == 0 {
			return ""
		}
		return v[0]
	}
	a = answer{code: read("code"), state: read("state"), err: read("error"), iss: read("iss")}
	if err != nil {
		return a, err
	}
	if a.code != "" && a.err != "" {
		return a, errors.New("both code and error came")
	}
	if len(a.code) > 4096 || strings.ContainsFunc(a.code, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return a, errors.New("the code is malformed")
	}
	return a, nil
}

// identify exchanges the code and asks who the person is.
func (f *oauthFlow) identify(ctx context.Context, tx *transaction, a answer) (identity, error) {
	var iss []string
	if a.iss != "" {
		iss = []string{a.iss}
	}
	if err := f.party.CheckIssuer(ctx, iss); err != nil {
		return identity{}, err
	}
	if a.code == "" {
		return identity{}, errors.New("no code")
	}
	tokens, err := f.party.Exchange(ctx, a.code, tx.RedirectURI, tx.Verifier)
	if err != nil {
		return identity{}, err
	}
	profile, err := f.profile(ctx, tx, tokens)
	if err != nil {
		return identity{}, err
	}
	return f.identity(profile, tokens)
}

// profile is the ID token's claims, the userinfo answer, or both.
func (f *oauthFlow) profile(ctx context.Context, tx *transaction, tokens *oidc.Tokens) (Profile, error) {
	var claims oidc.Claims
	var err error
	sub := ""
	if f.openID {
		claims, err = f.party.VerifyIDToken(ctx, tokens.IDToken, oidc.IDTokenCheck{Nonce: tx.Nonce, AccessToken: tokens.AccessToken})
		if err != nil {
			return nil, err
		}
		sub, _ = claims.String("sub")
	}
	switch {
	case f.UserInfo != nil:
		return f.UserInfo(ctx, func(ctx context.Context, url string) (any, error) {
			v, err := f.party.GetJSON(ctx, url, tokens, f.Headers)
			if object, ok := v.(oidc.Claims); ok { // a type that the caller could not name
				v = map[string]any(object)
			}
			return v, err
		})
	case f.openID && !f.UserInfoClaims:
		return Profile(claims), nil
	}
	more, err := f.party.UserInfo(ctx, tokens, sub)
	if err != nil {
		return nil, err
	}
	return Profile(join(claims, more)), nil
}

// join adds userinfo claims to those of the ID token, which come first. An
// address and what vouches for it come from the same place.
func join(claims, more oidc.Claims) oidc.Claims {
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
func (f *oauthFlow) identity(p Profile, tokens *oidc.Tokens) (identity, error) {
	u, id, verified, err := f.mapProfile(p)
	if err != nil {
		return identity{}, err
	}
	if id == "" || len(id) > 255 {
		return identity{}, errors.New("the profile has no usable id")
	}
	u = cleanUser(u)
	return identity{
		user: u, profile: p, verified: verified && u.Email != "", linkVerified: f.LinkVerifiedEmail,
		createCode: OAuthCreateAccount,
		account: Account{Type: f.wire.kind, Provider: f.ID, ProviderAccountID: id,
			AccessToken: tokens.AccessToken, RefreshToken: tokens.RefreshToken, IDToken: tokens.IDToken,
			ExpiresAt: tokens.ExpiresAt, TokenType: tokens.TokenType, Scope: cmp.Or(tokens.Scope, f.Scope),
			SessionState: tokens.SessionState},
	}, nil
}

func (f *oauthFlow) mapProfile(p Profile) (u User, id string, verified bool, err error) {
	c := oidc.Claims(p)
	if f.MapProfile != nil {
		if u, err = f.MapProfile(p); err != nil {
			return u, "", false, fmt.Errorf("profile cannot be mapped: %w", err)
		}
		id, u.ID = u.ID, ""
		verified = !u.EmailVerified.IsZero()
	} else {
		id = firstString(c, cmp.Or(f.Fields.ID, "sub"))
		u.Name = firstString(c, cmp.Or(f.Fields.Name, "name|nickname|preferred_username"))
		u.Email = firstString(c, cmp.Or(f.Fields.Email, "email"))
		u.Image = firstString(c, cmp.Or(f.Fields.Image, "picture"))
		verified = c.Bool(cmp.Or(f.Fields.EmailVerified, "email_verified"))
	}
	u.EmailVerified = User{}.EmailVerified
	return u, id, verified || f.TrustEmail, nil
}

// firstString returns the first non-empty alternative of paths "a|b.c".
func firstString(c oidc.Claims, paths string) string {
	for path := range strings.SplitSeq(paths, "|") {
		if s, ok := c.String(path); ok && s != "" {
			return s
		}
	}
	return ""
}
