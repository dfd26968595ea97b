package oidc

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"authsvc/internal/strictjson"

	jose "github.com/go-jose/go-jose/v4"
)

// maxIDToken bounds an ID token, in bytes.
const maxIDToken = 64 << 10

// IDTokenCheck is what the caller expects of an ID token.
type IDTokenCheck struct {
	// Nonce is that of the authorization request. Empty means that none was sent;
	// then a token with a nonce belongs to another request and is refused.
	Nonce string
	// AccessToken came with the ID token; at_hash, if present, must fit it.
	AccessToken string
	// MaxAge is the max_age of the authorization request; 0 means none was sent.
	// Otherwise auth_time is required and may not be longer ago.
	MaxAge time.Duration
	// Refreshed: the token came with a refresh, whose answer may repeat the nonce
	// of the sign-in, which nobody remembers (OpenID Connect Core 1.0, section
	// 12.2). Any nonce will do.
	Refreshed bool
}

// ErrMisaddressed: a token whose signature holds is of another issuer or for
// another client.
var ErrMisaddressed = errors.New("another's token")

// VerifyIDToken decides whether raw is an ID token of this provider for this
// client and this sign-in (OpenID Connect Core 1.0, section 3.1.3.7), and
// returns its claims. The signature is required although the token came over
// TLS. Times have a leeway of 60 s; iat may be at most a day old.
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

var errMalformed = errors.New("not a signed JWT in compact form")

// checkHeader judges the outside of a token before any key is looked for, and
// returns its algorithm. Of the header only alg, kid and typ mean anything: jku,
// jwk, x5u and x5c would let the token choose its own key. kind judges a typ.
func checkHeader(raw string, algs []jose.SignatureAlgorithm, kind func(typ any) bool) (jose.SignatureAlgorithm, error) {
	if len(raw) > maxIDToken {
		return "", errors.New("answer is too large")
	}
	if strings.Count(raw, ".") != 2 || strings.ContainsFunc(raw, notCode) {
		return "", errMalformed
	}
	encoded, _, _ := strings.Cut(raw, ".")
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return "", errMalformed
	}
	header, err := strictjson.Object(decoded)
	if err != nil {
		return "", fmt.Errorf("header: %w", err)
	}
	name, _ := header["alg"].(string)
	alg := jose.SignatureAlgorithm(name)
	if !slices.Contains(algs, alg) {
		return "", errors.New("signature algorithm is not allowed")
	}
	for _, extension := range []string{"crit", "b64"} {
		if _, ok := header[extension]; ok {
			return "", errors.New("header extensions are not supported")
		}
	}
	if typ, ok := header["typ"]; ok && !kind(typ) {
		return "", errors.New("another kind of token")
	}
	return alg, nil
}

// plainJWT reports whether typ is that of an ID token. Access tokens (at+jwt),
// logout tokens (logout+jwt) and others say what they are (RFC 8725, section
// 3.11).
func plainJWT(typ any) bool {
	s, _ := typ.(string)
	return strings.EqualFold(s, "JWT") || strings.EqualFold(s, "application/jwt")
}
