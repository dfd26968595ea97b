package authsvc

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"authsvc/internal/oauth1"
	"authsvc/internal/outbound"
	"authsvc/internal/profilepath"
	"authsvc/internal/seal"
)

func (f *oauth1Flow) credentials(token, secret string) oauth1.Credentials {
	return oauth1.Credentials{ClientID: f.Client.ID, ClientSecret: f.Client.Secret, Token: token, TokenSecret: secret}
}

// fetch asks a token endpoint. Its answer is a form, whatever its content type.
func (f *oauth1Flow) fetch(ctx context.Context, from string, c oauth1.Credentials, protocol map[string]string) (oauth1.Answer, error) {
	call := outbound.Call{Method: http.MethodPost, URL: from, Header: map[string]string{"Accept": "*/*"}}
	maps.Copy(call.Header, f.headers)
	if err := sign(&call, c, protocol); err != nil {
		return oauth1.Answer{}, err
	}
	body, err := f.calls.Fetch(ctx, call)
	if err != nil {
		return oauth1.Answer{}, err
	}
	return oauth1.ParseAnswer(body)
}

// sign sets the Authorization header of a call.
func sign(call *outbound.Call, c oauth1.Credentials, protocol map[string]string) error {
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

func methodOf(call *outbound.Call) string {
	switch {
	case call.Method != "":
		return call.Method
	case call.Form != nil || call.JSON != nil:
		return http.MethodPost
	}
	return http.MethodGet
}

// identify fetches token credentials (RFC 5849 §2.3) and asks with them who the
// person is.
func (f *oauth1Flow) identify(rq *request, tx *transaction, verifier string) (identity, error) {
	a, err := f.fetch(rq.ctx, f.AccessTokenURL, f.credentials(tx.Token, tx.TokenSecret), map[string]string{"oauth_verifier": verifier})
	if err != nil {
		return identity{}, fmt.Errorf("access token: %w", err)
	}
	x := &Exchange{Client: f.Client, RedirectURI: tx.RedirectURI, State: tx.State, Callback: rq.callbackParam, Tokens: Profile{},
		calls: f.calls, jwts: f.jwts, headers: f.headers, userInfoHeaders: f.headers, userInfoURL: f.UserInfoURL}
	for name, v := range a.Fields {
		x.Tokens[name] = v
	}
	c := f.credentials(a.Token, a.Secret)
	x.sign = func(call *outbound.Call) error { return sign(call, c, nil) }
	profile, err := f.profile(rq, x)
	if err != nil {
		return identity{}, err
	}
	u, id, verified, err := f.mapping.user(rq, profilepath.Roots{Profile: profile, Token: x.Tokens})
	if err != nil {
		return identity{}, err
	}
	if !usableID(id) || len(id) > 255 {
		return identity{}, fixedReason("the profile has no usable id")
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
