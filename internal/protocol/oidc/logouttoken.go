package oidc

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// logoutEvent is the member of events that identifies a logout token.
const logoutEvent = "http://schemas.openid.net/event/backchannel-logout"

// A LogoutToken is a provider's statement that a user signed out there.
type LogoutToken struct {
	Issuer    string
	Tenant    string // the claim tid, which a multi-tenant issuer must have
	Subject   string // empty if only a session is named
	SessionID string // empty if all sessions of Subject are meant
	ID        string // unique to the token, which must be accepted only once
	// Until is when the token is refused anyway.
	Until time.Time
}

// VerifyLogoutToken decides whether raw is a logout token of this provider for this
// client (OpenID Connect Back-Channel Logout 1.0, section 2.6). The caller must check
// that its ID was not seen before. Times have a leeway of 60 s; exp must be present,
// and iat may be at most a day old.
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

// logout checks the claims that only logout tokens have, and those that they must not
// have.
func (c *claimsCheck) logout() error {
	events, _ := c.claims["events"].(map[string]any)
	if _, ok := events[logoutEvent].(map[string]any); !ok {
		return errors.New("events does not identify it as a logout token")
	}
	if _, ok := c.claims["nonce"]; ok {
		return errors.New("it has a nonce, which only ID tokens may have")
	}
	if _, ok := c.claims["sub"]; !ok {
		return nil
	}
	return c.subject()
}

// logoutToken reads the claims.
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
	exp, _ := c.date("exp") // checked by times, as is iat
	iat, _ := c.date("iat")
	t.Until = exp
	if last := iat.Add(maxTokenAge); last.Before(exp) {
		t.Until = last
	}
	t.Until = t.Until.Add(2 * leeway)
	return t, nil
}
