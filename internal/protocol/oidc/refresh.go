package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"authsvc/internal/protocol/outbound"
)

// maxRefreshToken is the maximum length of a refresh token, in bytes.
const maxRefreshToken = 64 << 10

// A Refresh holds the parameters for renewing an access token.
type Refresh struct {
	RefreshToken string
	// Secret and Conform are as in [Grant].
	Secret  string
	Conform func(Claims) (Claims, error)
}

// Refresh requests new tokens from the token endpoint (RFC 6749, section 6). The answer
// may contain a new refresh token, which then replaces the old one, and an ID token,
// which Refresh does not check: see [Client.VerifyRefreshed].
//
// A refresh token may be valid for only one request, so a failed request is never
// retried. [IsInvalidGrant] reports whether an error means that the token is no longer
// valid.
func (c *Client) Refresh(ctx context.Context, r Refresh) (*Tokens, error) {
	if r.RefreshToken == "" || len(r.RefreshToken) > maxRefreshToken || strings.ContainsFunc(r.RefreshToken, notPrintable) {
		return nil, errors.New("refresh request: the refresh token is empty, too long or not printable")
	}
	md, err := c.Metadata(ctx)
	if err != nil {
		return nil, err
	}
	if r.Secret, err = c.credential(md, r.Secret); err != nil {
		return nil, fmt.Errorf("refresh request: %w", err)
	}
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {r.RefreshToken}}
	for name, value := range c.cfg.TokenParams {
		form.Set(name, value)
	}
	req, err := c.clientRequest(ctx, md, md.TokenURL, form, r.Secret)
	if err != nil {
		return nil, fmt.Errorf("refresh request: %w", err)
	}
	a, err := c.token.Do(func() (*outbound.Response, error) { return c.outbound.Do(req) })
	if err != nil {
		return nil, fmt.Errorf("token endpoint: %w", err)
	}
	fields, err := responseFields(a)
	if err == nil {
		var tokens *Tokens
		if tokens, err = c.ParseRefreshed(fields, r); err == nil {
			return tokens, nil
		}
	}
	return nil, fmt.Errorf("token endpoint: %w", redact(err, r.RefreshToken, r.Secret))
}

// ParseRefreshed parses the members of a token answer that [Client.Refresh] did not
// fetch itself.
func (c *Client) ParseRefreshed(fields Claims, r Refresh) (*Tokens, error) {
	tokens, err := readTokens(fields, r.Conform, time.Now())
	if err != nil {
		return nil, redact(err, r.RefreshToken, r.Secret)
	}
	return tokens, nil
}

// IsInvalidGrant reports whether err means that a refresh token was refused
// permanently: it has expired, was revoked or used before, or never belonged to this
// client (RFC 6749, section 5.2).
func IsInvalidGrant(err error) bool {
	var refusal *TokenError
	if !errors.As(err, &refusal) || outbound.Transient(refusal.Status) {
		return false
	}
	return refusal.Code == "invalid_grant" || refusal.Code == "bad_refresh_token" // GitHub's code
}

// VerifyRefreshed decides whether an ID token that came with a refresh is of this
// provider and client, and returns its subject. The caller must compare it with the
// subject of the sign-in (OpenID Connect Core 1.0, section 12.2).
func (c *Client) VerifyRefreshed(ctx context.Context, t *Tokens) (Subject, error) {
	claims, err := c.VerifyIDToken(ctx, t.IDToken, IDTokenCheck{AccessToken: t.AccessToken, Refreshed: true})
	if err != nil {
		return Subject{}, err
	}
	return claims.subject(), nil
}

// Revoke invalidates a token at the provider (RFC 7009). hint is refresh_token or
// access_token. If the provider announces no such endpoint, the error is
// [ErrNoEndpoint]. If the fault may be temporary, it is [outbound.ErrUnavailable].
func (c *Client) Revoke(ctx context.Context, token, hint, secret string) error {
	md, err := c.Metadata(ctx)
	switch {
	case err != nil:
		return err
	case md.RevocationURL == "":
		return ErrNoEndpoint
	}
	if secret, err = c.credential(md, secret); err != nil {
		return fmt.Errorf("revocation request: %w", err)
	}
	form := url.Values{"token": {token}, "token_type_hint": {hint}}
	req, err := c.clientRequest(ctx, md, md.RevocationURL, form, secret)
	if err != nil {
		return fmt.Errorf("revocation request: %w", err)
	}
	a, err := c.outbound.Do(req)
	switch {
	case err != nil:
		return fmt.Errorf("revocation endpoint: %w", err)
	case a.Status == http.StatusOK || a.Status == http.StatusNoContent:
		return nil
	}
	return fmt.Errorf("revocation endpoint: %w", outbound.StatusError(a.Status))
}
