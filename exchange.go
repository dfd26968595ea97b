package authsvc

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"

	"authsvc/internal/protocol/exchange"
	"authsvc/internal/protocol/oidc"
	"authsvc/internal/protocol/outbound"
	"authsvc/internal/text"
	"authsvc/internal/text/profilepath"
)

// Text returns what a path, written as in Fields, leads to in the profile: a
// string, or a number as an exact decimal. It is "" for anything else.
func (p Profile) Text(path string) string {
	f, err := profilepath.Parse(path)
	if err != nil {
		return ""
	}
	return f.Text(profilepath.Roots{Profile: p})
}

// object fetches a profile.
func (x *Exchange) object(ctx context.Context, from string) (Profile, error) {
	v, err := x.Get(ctx, from)
	if err != nil {
		return nil, fmt.Errorf("userinfo: %w", err)
	}
	profile, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("userinfo: the answer is not an object")
	}
	return profile, nil
}

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

	state exchange.State
}

// Internal is for the engine alone: its type has no name elsewhere.
func (x *Exchange) Internal() *exchange.State { return &x.state }

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
	call := outbound.Call{Method: r.Method, URL: r.URL, Form: r.Form, JSON: r.JSON, Header: maps.Clone(x.state.Headers)}
	if r.WithToken {
		call.Header = maps.Clone(x.state.UserInfoHeaders)
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
	v, err := x.state.Calls.Call(ctx, call)
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

// Picture fetches a JPEG, PNG, GIF or WebP picture with the access token, for
// providers whose pictures have no public address, and returns it as a data:
// URL for User.Image. It is empty when there is none (404) and when it is over
// 6 KiB.
func (x *Exchange) Picture(ctx context.Context, url string) (string, error) {
	call := outbound.Call{URL: url, Header: map[string]string{"Accept": "image/*"}}
	if err := x.attachToken(&call); err != nil {
		return "", err
	}
	kind, body, err := x.state.Calls.Picture(ctx, call)
	if err != nil || len(body) == 0 || len(body) > text.MaxPicture {
		return "", err
	}
	image := "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(body)
	if !text.IsPicture(image) {
		return "", errors.New("the answer is not a picture")
	}
	return image, nil
}

func (x *Exchange) attachToken(call *outbound.Call) error {
	if x.state.Sign != nil {
		return x.state.Sign(call)
	}
	if call.Token = x.accessToken(); call.Token == "" {
		return errors.New("there is no access token yet")
	}
	return nil
}

// UserInfo makes the request that Hooks.UserInfo replaces, for a hook that only
// adds to its answer. With an ID token, sub must be the same.
func (x *Exchange) UserInfo(ctx context.Context) (Profile, error) {
	if x.state.Sign != nil {
		return x.object(ctx, x.state.UserInfoURL)
	}
	if x.state.Tokens == nil {
		return nil, errors.New("there is no access token yet")
	}
	sub, _ := oidc.Claims(x.Claims).String("sub")
	claims, err := x.state.OIDC.UserInfo(ctx, x.state.Tokens, sub)
	return Profile(claims), err
}

// VerifyJWT returns the claims of a token that one of issuers signed for
// audience and that has not expired. jwksURL is where the keys are, on one of
// the provider's hosts; empty: where those of ID tokens are. HMAC is refused.
func (x *Exchange) VerifyJWT(ctx context.Context, raw, jwksURL string, issuers []string, audience string) (Profile, error) {
	claims, err := x.state.JWTs.Verify(ctx, raw, jwksURL, issuers, audience)
	return Profile(claims), err
}

// accessToken is that of the validated token answer or, within
// Hooks.ExchangeCode, the one that the hook has put into Tokens.
func (x *Exchange) accessToken() string {
	if x.state.Tokens != nil {
		return x.state.Tokens.AccessToken
	}
	token, _ := x.Tokens["access_token"].(string)
	return token
}
