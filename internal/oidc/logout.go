package oidc

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"authsvc/internal/strictjson"
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
// that tells more of the person than sub goes by POST, which leaves no trace of
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

// personal reports whether an ID token may tell who the person is to somebody
// who reads it on the way: by a claim that is not of the protocol, or by a sub
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

// logoutEvent is the member of events that makes a logout token.
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// A LogoutToken is a provider's word that somebody signed out there.
type LogoutToken struct {
	Issuer    string
	Tenant    string // the claim tid, which a multi-tenant issuer must have
	Subject   string // empty if only a session is named
	SessionID string // empty if all sessions of Subject are meant
	ID        string // unique to the token, to be taken once
	// Until is when the token is refused anyway.
	Until time.Time
}

// VerifyLogoutToken decides whether raw is a logout token of this provider for
// this client (OpenID Connect Back-Channel Logout 1.0, section 2.6), up to what
// needs memory: that its ID was not seen before. Times have a leeway of 60 s;
// exp has to be there, iat may be at most a day old.
func (c *Client) VerifyLogoutToken(ctx context.Context, raw string) (*LogoutToken, error) {
	t, err := c.verifyLogoutToken(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("logout token: %w", err)
	}
	return t, nil
}

func (c *Client) verifyLogoutToken(ctx context.Context, raw string) (*LogoutToken, error) {
	if c.cfg.Issuer == "" {
		return nil, errors.New("no issuer is configured")
	}
	claims, _, err := verifyJWS(ctx, raw, c.algs, logoutJWT, c.verifySignature)
	if err != nil {
		return nil, err
	}
	check := claimsCheck{client: c, claims: claims, now: time.Now()}
	for _, step := range []func() error{check.issuer, check.audience, check.times, check.logout} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return check.logoutToken()
}

// logoutJWT is the typ of a logout token, or the plain one of providers from
// before it had its own; the claim events tells it from an ID token.
func logoutJWT(typ any) bool {
	s, _ := typ.(string)
	return plainJWT(typ) || strings.EqualFold(s, "logout+jwt") || strings.EqualFold(s, "application/logout+jwt")
}

// logout judges what only logout tokens have, and may not have.
func (c *claimsCheck) logout() error {
	events, _ := c.claims["events"].(map[string]any)
	if _, ok := events[logoutEvent].(map[string]any); !ok {
		return errors.New("events does not say that it is one")
	}
	if _, ok := c.claims["nonce"]; ok {
		return errors.New("it has a nonce, as only ID tokens do")
	}
	if _, ok := c.claims["sub"]; !ok {
		return nil
	}
	return c.subject()
}

// logoutToken reads what the claims name.
func (c *claimsCheck) logoutToken() (*LogoutToken, error) {
	t := &LogoutToken{}
	t.Issuer, _ = c.claims["iss"].(string)
	t.Tenant, _ = c.claims["tid"].(string)
	t.Subject, _ = c.claims["sub"].(string)
	for name, into := range map[string]*string{"sid": &t.SessionID, "jti": &t.ID} {
		v, ok := c.claims[name].(string)
		if !ok && c.claims[name] != nil || len(v) > 4<<10 {
			return nil, errors.New(name + " is not a string, or too long")
		}
		*into = v
	}
	switch {
	case t.ID == "":
		return nil, errors.New("jti is missing")
	case t.Subject == "" && t.SessionID == "":
		return nil, errors.New("both sub and sid are missing")
	}
	exp, _ := c.date("exp") // judged by times, as is iat
	iat, _ := c.date("iat")
	t.Until = exp
	if last := iat.Add(maxTokenAge); last.Before(exp) {
		t.Until = last
	}
	t.Until = t.Until.Add(2 * leeway)
	return t, nil
}

// A Subject is whom an ID token is about.
type Subject struct {
	Issuer string // iss
	ID     string // sub
}

func (c Claims) subject() (s Subject) {
	s.Issuer, _ = c["iss"].(string)
	s.ID, _ = c["sub"].(string)
	return s
}

// UnverifiedSubject is whom an ID token is about that was verified when it
// came, empty if there is none.
func UnverifiedSubject(raw string) Subject {
	claims, err := unverifiedClaims(raw)
	if err != nil {
		return Subject{}
	}
	return claims.subject()
}

// unverifiedClaims are those of a signed token that was verified when it came.
func unverifiedClaims(raw string) (Claims, error) {
	parts := strings.Split(raw, ".")
	if len(parts) != 3 {
		return nil, errors.New("not a signed token in compact form")
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return nil, errors.New("the payload is not base64url")
	}
	return strictjson.Object(payload)
}
