package authsvc

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"time"
	"unicode/utf8"

	"authsvc/internal/oidc"
	"authsvc/internal/outbound"
)

// An Exchange is one sign-in, or one call for stored tokens, as the Hooks of a
// provider see it. It is valid until the hook returns. Which fields are set
// depends on the protocol and the hook.
type Exchange struct {
	Client      Client // with the current secret
	Code        string
	RedirectURI string
	Verifier    string // PKCE; empty without
	State       string
	// Callback returns a parameter of the callback request: "" if it is absent,
	// repeated or over 16 KiB. It is untrusted. Of a form_post response only the
	// standard parameters and user are available.
	Callback func(name string) string
	Tokens   Profile // the token answer, conformed; nil before. See Hooks.RefreshTokens
	Claims   Profile // of the verified ID token or OpenID 2.0 assertion; nil without

	calls           *outbound.Client
	jwts            *oidc.JWTVerifier
	oidc            *oidc.Client // with OAuth
	tokens          *oidc.Tokens
	authTime        time.Time                  // of the ID token; zero: it does not say
	headers         map[string]string          // of every call
	userInfoHeaders map[string]string          // of those with the token
	userInfoURL     string                     // with sign
	sign            func(*outbound.Call) error // attaches the token of a protocol that signs; else nil
}

// An APIRequest is a call to a provider.
type APIRequest struct {
	Method string // default GET, or POST with a body
	URL    string
	Header map[string]string
	// Form or JSON is the body; JSON is marshalled.
	Form url.Values
	JSON any
	// WithToken attaches the access token as OAuth.UserInfo.Auth says, or, with
	// OAuth 1.0a, signs the request by it.
	WithToken bool
}

// Get fetches JSON with the access token and the provider's headers. The result
// and the errors are those of Do.
func (x *Exchange) Get(ctx context.Context, url string) (any, error) {
	return x.Do(ctx, APIRequest{URL: url, WithToken: true})
}

// Do calls one of the hosts that the provider names, over https, and returns
// the JSON (or form) that it answers with a 2xx status: objects are
// map[string]any, numbers json.Number, an empty answer nil. Answers over 1 MiB
// and redirects are errors, a status of 400 to 499 other than 429 is a
// *RefusedError. No error quotes the address or the answer.
func (x *Exchange) Do(ctx context.Context, r APIRequest) (any, error) {
	call := outbound.Call{Method: r.Method, URL: r.URL, Form: r.Form, JSON: r.JSON, Header: maps.Clone(x.headers)}
	if r.WithToken {
		call.Header = maps.Clone(x.userInfoHeaders)
	}
	if call.Header == nil {
		call.Header = map[string]string{}
	}
	maps.Copy(call.Header, r.Header)
	if r.WithToken {
		if err := x.attachToken(&call); err != nil {
			return nil, err
		}
	}
	v, err := x.calls.Call(ctx, call)
	var no *outbound.Refusal
	if errors.As(err, &no) {
		return nil, &RefusedError{Status: no.Status, Answer: no.Answer, err: err}
	}
	return v, err
}

// A RefusedError is the error of Exchange.Do when the provider rejects the
// request with a status of 400 to 499 other than 429.
type RefusedError struct {
	Status int // 400 to 499, not 429
	Answer any // what Do would return; nil if it cannot be read
	err    error
}

// Error returns the status, and nothing that the provider sent.
func (e *RefusedError) Error() string { return e.err.Error() }

// maxPicture is the largest picture that a user may have in place of an
// address, in bytes: with it a session still fits into cookies.
const maxPicture = 6 << 10

// Picture fetches a JPEG, PNG, GIF or WebP picture with the access token, for
// providers whose pictures have no public address, and returns it as a data:
// URL for User.Image. It is empty when there is none (404) and when it is over
// 6 KiB.
func (x *Exchange) Picture(ctx context.Context, url string) (string, error) {
	call := outbound.Call{URL: url, Header: map[string]string{"Accept": "image/*"}}
	if err := x.attachToken(&call); err != nil {
		return "", err
	}
	kind, body, err := x.calls.Picture(ctx, call)
	if err != nil || len(body) == 0 || len(body) > maxPicture {
		return "", err
	}
	image := "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(body)
	if !isPicture(image) {
		return "", errors.New("the answer is not a picture")
	}
	return image, nil
}

func (x *Exchange) attachToken(call *outbound.Call) error {
	if x.sign != nil {
		return x.sign(call)
	}
	if call.Token = x.accessToken(); call.Token == "" {
		return errors.New("there is no access token yet")
	}
	return nil
}

// UserInfo makes the request that Hooks.UserInfo replaces, for a hook that only
// adds to its answer. With an ID token, sub must be the same.
func (x *Exchange) UserInfo(ctx context.Context) (Profile, error) {
	if x.sign != nil {
		return x.object(ctx, x.userInfoURL)
	}
	if x.tokens == nil {
		return nil, errors.New("there is no access token yet")
	}
	sub, _ := oidc.Claims(x.Claims).String("sub")
	claims, err := x.oidc.UserInfo(ctx, x.tokens, sub)
	return Profile(claims), err
}

// VerifyJWT returns the claims of a token that one of issuers signed for
// audience and that has not expired. jwksURL is where the keys are, on one of
// the provider's hosts; empty: where those of ID tokens are. HMAC is refused.
func (x *Exchange) VerifyJWT(ctx context.Context, raw, jwksURL string, issuers []string, audience string) (Profile, error) {
	claims, err := x.jwts.Verify(ctx, raw, jwksURL, issuers, audience)
	return Profile(claims), err
}

// accessToken is that of the validated token answer or, within
// Hooks.ExchangeCode, the one that the hook has put into Tokens.
func (x *Exchange) accessToken() string {
	if x.tokens != nil {
		return x.tokens.AccessToken
	}
	token, _ := x.Tokens["access_token"].(string)
	return token
}

// callHook calls a hook of the provider and returns a panic as an error.
func callHook[T any](rq *request, name string, call func() (T, error)) (v T, err error) {
	defer rq.fleet.recovered(name+" of provider "+rq.providerID(), func() {
		var none T
		v, err = none, errors.New(name+" panicked")
	})
	return call()
}

// exchange makes the Exchange that hooks get.
func (f *oauthFlow) exchange(rq *request, tx *transaction, code string) (*Exchange, error) {
	c := f.Client
	c.PrivateKey = "" // no hook needs it
	if f.secrets != nil {
		var err error
		if c.Secret, err = callHook(rq, "ClientSecret", func() (string, error) { return f.secrets.get(rq.ctx) }); err != nil {
			return nil, fmt.Errorf("client secret: %w", err)
		}
	}
	return &Exchange{Client: c, Code: code, RedirectURI: tx.RedirectURI, Verifier: tx.Verifier, State: tx.State,
		Callback: rq.callbackParam, calls: f.oidc.Outbound(), jwts: f.oidc.JWTs(), oidc: f.oidc, headers: f.Headers, userInfoHeaders: f.userInfoHeaders}, nil
}

// maxCallbackParam bounds a callback parameter that hooks get, in bytes.
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
func (f *oauthFlow) redeem(rq *request, x *Exchange) (*oidc.Tokens, error) {
	g := oidc.Grant{Code: x.Code, RedirectURI: x.RedirectURI, Verifier: x.Verifier, Secret: x.Client.Secret, Conform: f.conform(rq)}
	if f.Hooks.ExchangeCode == nil {
		return f.oidc.Exchange(rq.ctx, g)
	}
	answer, err := callHook(rq, "ExchangeCode", func() (Profile, error) { return f.Hooks.ExchangeCode(rq.ctx, x) })
	if err != nil {
		return nil, fmt.Errorf("token request: %w", err)
	}
	return f.oidc.ParseTokens(oidc.Claims(answer), g)
}

// conform is Hooks.ConformTokens for answers of the token endpoint; nil without.
func (f *oauthFlow) conform(rq *request) func(oidc.Claims) (oidc.Claims, error) {
	if f.Hooks.ConformTokens == nil {
		return nil
	}
	return func(answer oidc.Claims) (oidc.Claims, error) {
		p, err := callHook(rq, "ConformTokens", func() (Profile, error) { return f.Hooks.ConformTokens(Profile(answer)) })
		return oidc.Claims(p), err
	}
}
