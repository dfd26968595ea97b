package oidc

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// ErrNoEndpoint says that the provider has no endpoint for the request.
var ErrNoEndpoint = errors.New("the provider has no such endpoint")

// maxLogoutURL is the maximum length of a logout URL with an ID token, in bytes.
// Servers and proxies cut or refuse longer request lines.
const maxLogoutURL = 6 << 10

// A LogoutRequest holds the parameters for the end-session endpoint (OpenID Connect
// RP-Initiated Logout 1.0, section 2).
type LogoutRequest struct {
	IDToken     string // hints at the user to sign out; empty: unknown
	RedirectURI string // where the browser goes afterwards, as registered
	State       string
}

// A Logout says how the browser ends its session at the provider: it opens URL, or
// posts Fields there.
type Logout struct {
	URL    string
	Fields url.Values // nil: by GET
}

// Logout returns how the browser ends its session at the provider. The request also
// names the client, since the ID token may be encrypted so that only the client can
// read it. If the ID token reveals more about the user than sub, it is sent by POST,
// which leaves no trace in histories and request logs. If the token is too long for a
// URL, it is also sent by POST. If it is longer than a sign-in accepts, it is omitted.
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

// withFields returns u with fields in its query. They replace parameters of the same
// name.
func withFields(u url.URL, fields url.Values) string {
	q := u.Query()
	maps.Copy(q, fields)
	u.RawQuery = q.Encode()
	return u.String()
}

// protocolClaims lists the claims of an ID token that describe the token and the
// sign-in. They come from RFC 7519, OpenID Connect Core 1.0 and Back-Channel Logout
// 1.0; typ and ver are added by servers for the kind and version of the token. sub
// identifies the user to the provider, which is the purpose of the hint.
var protocolClaims = []string{"iss", "sub", "aud", "azp", "exp", "iat", "nbf", "jti", "auth_time", "nonce", "acr", "amr",
	"at_hash", "c_hash", "s_hash", "sid", "typ", "ver"}

// personal reports whether an ID token may reveal the user's identity to people who
// read it in transit: by a claim outside the protocol, or by a sub that is an email
// address. A token that cannot be read counts as personal.
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
