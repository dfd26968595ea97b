package authsvc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"time"

	"authsvc/internal/oauth1"
	"authsvc/internal/oidc"
	"authsvc/internal/seal"
)

// OAuth1 signs in with OAuth 1.0a (RFC 5849), signed by HMAC-SHA1. A service
// that does not confirm the callback, as version 1.0 did not, is refused: there
// an attacker could have somebody else approve the attacker's request.
//
// The stored account has the token as AccessToken, its secret as RefreshToken
// and "oauth1" as TokenType: one is of no use without the other, and both are
// sealed as those of other providers are. Neither expires.
type OAuth1 struct {
	ID     string // [a-z0-9_-]+, part of the routes and of stored accounts
	Name   string // for people
	Client Client // consumer key and secret

	RequestTokenURL  string // temporary credentials
	AuthorizationURL string // where people are sent
	AccessTokenURL   string // token credentials
	UserInfoURL      string // answers the profile, JSON, to a signed GET

	// Hosts are as in OAuth.
	Hosts []string
	// Headers are sent with every request. {client_id} in a value is the client
	// id.
	Headers map[string]string

	// Fields maps the profile to the user; token.user_id is of the answer that
	// brought the token.
	Fields Fields
	// TrustEmail and LinkVerifiedEmail are as in OAuth.
	TrustEmail        bool
	LinkVerifiedEmail bool

	// UserInfo replaces the profile request. The calls of x are signed if they
	// are WithToken, a form and the query included. It and MapProfile are as
	// in OAuth.
	UserInfo   func(ctx context.Context, x *Exchange) (Profile, error)
	MapProfile func(Profile) (User, error)

	Style Style
}

// oauth1Flow is a compiled *OAuth1.
type oauth1Flow struct {
	OAuth1
	party       *oidc.Party
	mapping     mapping
	headers     map[string]string
	redirectURI string
	wire        info
}

func (f *oauth1Flow) info() info { return f.wire }

// begin fetches temporary credentials (RFC 5849 §2.1) and sends the person to
// approve them (§2.2). The protocol has no state: ours is in the query of the
// callback. The secret of the temporary credentials waits in the sealed cookie.
func (f *oauth1Flow) begin(rq *request) outcome {
	linkTo, out := rq.linkIntent()
	if out != nil {
		return out
	}
	tx := &transaction{Provider: f.ID, Issuer: f.AccessTokenURL, RedirectURI: f.redirectURI, CallbackURL: rq.callbackURL(), LinkTo: linkTo}
	rq.makeState(tx)
	a, err := f.fetch(rq.ctx, f.RequestTokenURL, f.credentials("", ""), map[string]string{"oauth_callback": withQuery(f.redirectURI, "state", tx.State)})
	if err == nil && !a.Confirmed {
		err = errors.New("oauth_callback_confirmed is missing: the service speaks OAuth 1.0, not 1.0a")
	}
	if err != nil {
		return fail(OAuthSignin, fmt.Errorf("request token: %w", err))
	}
	tx.Token, tx.TokenSecret = a.Token, a.Secret
	to, err := url.Parse(f.AuthorizationURL)
	if err != nil {
		return fail(OAuthSignin, errors.New("authorization url: not a url"))
	}
	if err := rq.keepTx(tx); err != nil {
		return err
	}
	q := to.Query()
	q.Set("oauth_token", a.Token)
	to.RawQuery = q.Encode()
	return redirect{to: to.String()}
}

func (f *oauth1Flow) credentials(token, secret string) oauth1.Credentials {
	return oauth1.Credentials{ClientID: f.Client.ID, ClientSecret: f.Client.Secret, Token: token, TokenSecret: secret}
}

// fetch asks a token endpoint. Its answer is a form, whatever its content type.
func (f *oauth1Flow) fetch(ctx context.Context, from string, c oauth1.Credentials, protocol map[string]string) (oauth1.Answer, error) {
	call := oidc.Call{Method: http.MethodPost, URL: from, Header: map[string]string{"Accept": "*/*"}}
	maps.Copy(call.Header, f.headers)
	if err := sign(&call, c, protocol); err != nil {
		return oauth1.Answer{}, err
	}
	body, err := f.party.Fetch(ctx, call)
	if err != nil {
		return oauth1.Answer{}, err
	}
	return oauth1.ParseAnswer(body)
}

// sign sets the Authorization header of a call.
func sign(call *oidc.Call, c oauth1.Credentials, protocol map[string]string) error {
	header, err := c.Authorization(oauth1.Request{Method: methodOf(call), URL: call.URL, Form: call.Form, Protocol: protocol}, seal.Token(), time.Now())
	if err != nil {
		return err
	}
	for name := range call.Header {
		if http.CanonicalHeaderKey(name) == "Authorization" {
			return errors.New("the header Authorization is the signature's")
		}
	}
	call.Header["Authorization"] = header
	return nil
}

func methodOf(call *oidc.Call) string {
	switch {
	case call.Method != "":
		return call.Method
	case call.Form != nil || call.JSON != nil:
		return http.MethodPost
	}
	return http.MethodGet
}

// complete judges what the person brought back and fetches the profile.
func (f *oauth1Flow) complete(rq *request) outcome {
	switch {
	case rq.r.Method == http.MethodPost:
		return rq.notAllowed(&route{get: callback})
	case isPrefetch(rq.r.Header):
		return problem{status: http.StatusServiceUnavailable, text: "not to be prefetched"}
	}
	a, err := readOAuth1Answer(rq)
	if err != nil {
		rq.dropTx(a.state)
		return fail(OAuthCallback, err)
	}
	tx, refused := rq.finishTx(a.state)
	if refused != nil {
		return refused
	}
	if err := f.judge(tx, a); err != nil {
		if errors.Is(err, ErrAccessDenied) {
			return fail(AccessDenied, err)
		}
		return fail(OAuthCallback, err)
	}
	id, err := f.identify(rq, tx, a.verifier)
	switch {
	case errors.Is(err, ErrAccessDenied):
		return fail(AccessDenied, err)
	case err != nil:
		return fail(OAuthCallback, err)
	}
	id.callbackURL, id.linkTo = tx.CallbackURL, tx.LinkTo
	return id
}

// An oauth1Answer is what came back through the browser (RFC 5849 §2.2).
// denied, which the standard lacks, is the token of a request that was refused.
type oauth1Answer struct{ state, token, verifier, denied string }

func readOAuth1Answer(rq *request) (a oauth1Answer, err error) {
	for name, into := range map[string]*string{"state": &a.state, "oauth_token": &a.token, "oauth_verifier": &a.verifier, "denied": &a.denied} {
		v, twice := rq.answered(name)
		if twice {
			err = fmt.Errorf("parameter %s came twice", name)
		}
		*into = v
	}
	return a, err
}

// judge compares an answer with the attempt that its state belongs to.
func (f *oauth1Flow) judge(tx *transaction, a oauth1Answer) error {
	switch {
	case tx.Issuer != f.AccessTokenURL || tx.RedirectURI != f.redirectURI:
		return errors.New("the provider's address was changed since the attempt began")
	case a.denied != "" && (a.denied != tx.Token || a.verifier != ""):
		return errors.New("the refusal is not of this attempt")
	case a.denied != "":
		return fmt.Errorf("%w: the person said no", ErrAccessDenied)
	case a.token == "":
		return errors.New("no oauth_token")
	case a.token != tx.Token:
		return errors.New("oauth_token is not that of this attempt")
	case !oauth1.Usable(a.verifier):
		return errors.New("no usable oauth_verifier")
	}
	return nil
}

// identify fetches token credentials (RFC 5849 §2.3) and asks with them who the
// person is.
func (f *oauth1Flow) identify(rq *request, tx *transaction, verifier string) (identity, error) {
	a, err := f.fetch(rq.ctx, f.AccessTokenURL, f.credentials(tx.Token, tx.TokenSecret), map[string]string{"oauth_verifier": verifier})
	if err != nil {
		return identity{}, fmt.Errorf("access token: %w", err)
	}
	x := &Exchange{Client: f.Client, RedirectURI: tx.RedirectURI, State: tx.State, Callback: rq.callbackParam, Tokens: Profile{},
		party: f.party, headers: f.headers, userInfoHeaders: f.headers, userInfoURL: f.UserInfoURL}
	for name, v := range a.Fields {
		x.Tokens[name] = v
	}
	c := f.credentials(a.Token, a.Secret)
	x.sign = func(call *oidc.Call) error { return sign(call, c, nil) }
	profile, err := f.profile(rq, x)
	if err != nil {
		return identity{}, err
	}
	u, id, verified, err := f.mapping.user(rq, roots{profile: profile, token: x.Tokens})
	if err != nil {
		return identity{}, err
	}
	if id == "" || len(id) > 255 {
		return identity{}, errors.New("the profile has no usable id")
	}
	u = cleanUser(u)
	return identity{
		user: u, profile: profile, verified: verified && u.Email != "", linkVerified: f.LinkVerifiedEmail, createCode: OAuthCreateAccount,
		account: Account{Type: f.wire.kind, Provider: f.ID, ProviderAccountID: id, AccessToken: a.Token, RefreshToken: a.Secret, TokenType: "oauth1"},
	}, nil
}

func (f *oauth1Flow) profile(rq *request, x *Exchange) (Profile, error) {
	if f.UserInfo != nil {
		return guarded(rq, "UserInfo", func() (Profile, error) { return f.UserInfo(rq.ctx, x) })
	}
	return x.object(rq.ctx, f.UserInfoURL)
}

// object fetches a profile.
func (x *Exchange) object(ctx context.Context, from string) (Profile, error) {
	v, err := x.Get(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("userinfo: %w", err)
	}
	profile, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("userinfo: the answer is no object")
	}
	return profile, nil
}
