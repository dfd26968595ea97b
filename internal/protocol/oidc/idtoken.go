package oidc

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"authsvc/internal/text/strictjson"
)

// maxIDToken is the maximum length of an ID token, in bytes.
const maxIDToken = 64 << 10

// IDTokenCheck holds the values that the caller expects in an ID token.
type IDTokenCheck struct {
	// Nonce is the nonce of the authorization request. Empty means that none was sent;
	// then a token with a nonce belongs to another request and is refused.
	Nonce string
	// AccessToken came with the ID token; at_hash, if present, must match it.
	AccessToken string
	// MaxAge is the max_age of the authorization request; 0 means none was sent.
	// Otherwise auth_time is required and must not be longer ago.
	MaxAge time.Duration
	// Refreshed says that the token came with a refresh, so any nonce is accepted. The
	// answer may repeat the nonce of the sign-in, which is not kept (OpenID Connect
	// Core 1.0, section 12.2).
	Refreshed bool
}

// ErrMisaddressed says that a token with a valid signature has another issuer or is for
// another client.
var ErrMisaddressed = errors.New("not a token from this issuer for this client")

// VerifyIDToken decides whether raw is an ID token of this provider for this client and
// this sign-in (OpenID Connect Core 1.0, section 3.1.3.7), and returns its claims. The
// signature is required although the token came over TLS. Times have a leeway of 60 s;
// iat may be at most a day old.
func (c *Client) VerifyIDToken(ctx context.Context, raw string, want IDTokenCheck) (Claims, error) {
	claims, err := c.verifyIDToken(ctx, raw, want)
	if err != nil {
		return nil, fmt.Errorf("id token: %w", err)
	}
	return claims, nil
}

func (c *Client) verifyIDToken(ctx context.Context, raw string, want IDTokenCheck) (Claims, error) {
	if c.cfg.Issuer == "" {
		return nil, errors.New("no issuer is configured")
	}
	claims, alg, err := verifyJWS(ctx, raw, c.algs, plainJWT, c.verifySignature)
	if err != nil {
		return nil, err
	}
	check := claimsCheck{client: c, claims: claims, alg: alg, want: want, now: time.Now()}
	if err := check.run(); err != nil {
		return nil, err
	}
	return claims, nil
}

// A Subject identifies the user of an ID token.
type Subject struct {
	Issuer string // iss
	ID     string // sub
}

func (c Claims) subject() (s Subject) {
	s.Issuer, _ = c["iss"].(string)
	s.ID, _ = c["sub"].(string)
	return s
}

// UnverifiedSubject returns the subject of an ID token that was verified when it was
// received. It returns an empty Subject if the token cannot be read.
func UnverifiedSubject(raw string) Subject {
	claims, err := unverifiedClaims(raw)
	if err != nil {
		return Subject{}
	}
	return claims.subject()
}

// unverifiedClaims returns the claims of a signed token that was verified when it was
// received.
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
