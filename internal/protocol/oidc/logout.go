package oidc

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// ErrNoEndpoint: the provider has no endpoint for what was asked.
var ErrNoEndpoint = errors.New("the provider has no such endpoint")

// maxLogoutURL is how long the address of a logout with an ID token may get, in
// bytes; servers and proxies cut or refuse longer request lines.
const maxLogoutURL = 6 << 10

// A LogoutRequest is what the end-session endpoint is told (OpenID Connect
// RP-Initiated Logout 1.0, section 2).
type LogoutRequest struct {
	IDToken     string // hint at whom to sign out; empty: unknown
	RedirectURI string // where the browser is sent afterwards, as registered
	State       string
}

// A Logout is how the browser ends its session at the provider: it opens URL,
// or posts Fields there.
type Logout struct {
	URL    string
	Fields url.Values // nil: by GET
}

// Logout is how the browser ends its session at the provider. The client is
// named beside the ID token, which may be sealed for nobody else. An ID token
// that reveals more of the person than sub goes by POST, which leaves no trace of
// it in histories and logs of requests; so does one that is too long for an
// address. One that is larger than a sign-in accepts is left out.
func (c *Client) Logout(ctx context.Context, r LogoutRequest) (Logout, error) {
	md, err := c.Metadata(ctx)
	if err != nil {
		return Logout{}, err
	}
	if md.EndSessionURL == "" {
		return Logout{}, ErrNoEndpoint
	}
	u, err := url.Parse(md.EndSessionURL)
	if err != nil {
		return Logout{}, errors.New("malformed url")
	}
	fields := url.Values{"client_id": {c.cfg.ClientID}, "post_logout_redirect_uri": {r.RedirectURI}, "state": {r.State}}
	if r.IDToken == "" || len(r.IDToken) > maxIDToken {
		return Logout{URL: withFields(*u, fields)}, nil
	}
	fields.Set("id_token_hint", r.IDToken)
	if get := withFields(*u, fields); len(get) <= maxLogoutURL && !personal(r.IDToken) {
		return Logout{URL: get}, nil
	}
	return Logout{URL: u.String(), Fields: fields}, nil
}

// withFields is u with fields in its query, in place of those of the same name.
func withFields(u url.URL, fields url.Values) string {
	q := u.Query()
	maps.Copy(q, fields)
	u.RawQuery = q.Encode()
	return u.String()
}

// protocolClaims are the claims of an ID token that are about the token and the
// sign-in: RFC 7519, OpenID Connect Core 1.0, Back-Channel Logout 1.0, and two
// that servers add to name the kind and version of the token. sub names the
// person to the provider, which the hint is for.
var protocolClaims = []string{"iss", "sub", "aud", "azp", "exp", "iat", "nbf", "jti", "auth_time", "nonce", "acr", "amr",
	"at_hash", "c_hash", "s_hash", "sid", "typ", "ver"}

// personal reports whether an ID token may reveal who the person is to someone
// who reads it in transit: by a claim that is not of the protocol, or by a sub
// that is an address. What cannot be read counts as personal.
func personal(raw string) bool {
	claims, err := unverifiedClaims(raw)
	if err != nil {
		return true
	}
	for name := range claims {
		if !slices.Contains(protocolClaims, name) {
			return true
		}
	}
	sub, ok := claims["sub"].(string)
	return !ok || strings.Contains(sub, "@")
}
