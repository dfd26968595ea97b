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

// Text returns the value at a path of the profile, written as in Fields: a string, or a
// number as an exact decimal. It returns "" for any other value.
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
		return nil, errors.New("userinfo: the response is not a JSON object")
	}
	return profile, nil
}

// An Exchange is one sign-in, or one request for stored tokens, as seen by a provider's
// Hooks. It is valid until the hook returns. Which fields are set depends on the
// protocol and the hook.
type Exchange struct {
	Client      Client // with the current secret
	Code        string
	RedirectURI string
	Verifier    string // for PKCE; empty without
	State       string
	// Callback returns a parameter of the callback request, or "" if it is absent,
	// repeated or over 16 KiB. It is untrusted. For a form_post response only the
	// standard parameters and the parameter "user" are available.
	Callback func(name string) string
	Tokens   Profile // the token response in standard form; nil until it has arrived. See Hooks.RefreshTokens
	Claims   Profile // claims of the verified ID token or OpenID 2.0 assertion; nil without

	state exchange.State
}

// Internal is for the engine alone. Its result type cannot be named elsewhere.
func (x *Exchange) Internal() *exchange.State { return &x.state }

// An APIRequest is a call to a provider.
type APIRequest struct {
	Method string // default GET, or POST with a body
	URL    string
	Header map[string]string
	// Form or JSON is the body. JSON is marshalled.
	Form url.Values
	JSON any
	// WithToken attaches the access token as OAuth.UserInfo.Auth says. With OAuth 1.0a
	// it signs the request instead.
	WithToken bool
}

// Get fetches JSON with the access token and the provider's headers. Its results and
// errors are the same as Do's.
func (x *Exchange) Get(ctx context.Context, url string) (any, error) {
	return x.Do(ctx, APIRequest{URL: url, WithToken: true})
}

// Do calls one of the provider's hosts, see [OAuth].Hosts, over https, and returns the
// JSON (or form) of a 2xx answer: objects are map[string]any, numbers json.Number, an
// empty answer nil. Answers over 1 MiB and redirects are errors. A status of 400 to 499
// except 429 is a *RefusedError. No error quotes the address or the answer.
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

// A RefusedError is the error of Exchange.Do if the provider rejects the request with a
// status of 400 to 499 except 429.
type RefusedError struct {
	Status int // 400 to 499, never 429
	Answer any // the decoded answer, as Do returns it; nil if it cannot be read
	err    error
}

// Error reports the status, and nothing that the provider sent.
func (e *RefusedError) Error() string { return e.err.Error() }

// Picture fetches a JPEG, PNG, GIF or WebP picture with the access token, for providers
// whose pictures have no public address. It returns a data: URL for User.Image, or ""
// if there is no picture (404) or it is over 6 KiB.
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
		return "", errors.New("the response is not a picture")
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

// UserInfo makes the request that Hooks.UserInfo replaces, for a hook that only adds to
// the answer. If there is an ID token, the sub of both must match.
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

// VerifyJWT returns the claims of an unexpired token that one of issuers signed for
// audience. jwksURL is the address of the keys, on one of the provider's hosts; empty:
// the keys of ID tokens. HMAC is refused.
func (x *Exchange) VerifyJWT(ctx context.Context, raw, jwksURL string, issuers []string, audience string) (Profile, error) {
	claims, err := x.state.JWTs.Verify(ctx, raw, jwksURL, issuers, audience)
	return Profile(claims), err
}

// accessToken returns the access token of the validated token response or, within
// Hooks.ExchangeCode, the one that the hook has put into Tokens.
func (x *Exchange) accessToken() string {
	if x.state.Tokens != nil {
		return x.state.Tokens.AccessToken
	}
	token, _ := x.Tokens["access_token"].(string)
	return token
}
