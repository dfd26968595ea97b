package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc/internal/protocol/outbound"
)

// A JWTVerifier verifies signed tokens of a provider other than the ID token of a
// sign-in, such as access tokens with claims. It is safe for concurrent use.
type JWTVerifier struct {
	outbound *outbound.Client
	algs     []jose.SignatureAlgorithm
	own      *cached[[]jose.JSONWebKey]

	mu   sync.Mutex
	sets map[string]*cached[[]jose.JSONWebKey] // by URL
}

// NewJWTVerifier returns a verifier for a provider that has no key set of its own. For
// other providers, see [Client.JWTs].
func NewJWTVerifier(out *outbound.Client) *JWTVerifier {
	none := func(context.Context) ([]jose.JSONWebKey, error) { return nil, errNoKeySet }
	return newJWTVerifier(out, asymmetricAlgs, &cached[[]jose.JSONWebKey]{fetch: none})
}

func newJWTVerifier(out *outbound.Client, algs []jose.SignatureAlgorithm, own *cached[[]jose.JSONWebKey]) *JWTVerifier {
	return &JWTVerifier{outbound: out, algs: algs, own: own, sets: map[string]*cached[[]jose.JSONWebKey]{}}
}

// JWTs returns the verifier of further signed tokens of the provider.
func (c *Client) JWTs() *JWTVerifier { return c.jwts }

// Verify verifies a signed token and returns its claims. The keys come from jwksURL,
// whose host must be one that calls may reach; if empty, the provider's own keys are
// used. iss must be one of issuers, aud must contain audience, and exp must be present.
// Only asymmetric signatures are accepted.
func (v *JWTVerifier) Verify(ctx context.Context, raw, jwksURL string, issuers []string, audience string) (Claims, error) {
	claims, err := v.verify(ctx, raw, jwksURL, issuers, audience)
	if err != nil {
		return nil, fmt.Errorf("token: %w", err)
	}
	return claims, nil
}

func (v *JWTVerifier) verify(ctx context.Context, raw, jwksURL string, issuers []string, audience string) (Claims, error) {
	keys, err := v.keySet(jwksURL)
	if err != nil {
		return nil, err
	}
	claims, _, err := verifyJWS(ctx, raw, v.algs, tokenJWT, func(ctx context.Context, jws *jose.JSONWebSignature) ([]byte, error) {
		if symmetric(jose.SignatureAlgorithm(jws.Signatures[0].Protected.Algorithm)) {
			return nil, errSignature
		}
		return verifyBySet(ctx, keys, jws)
	})
	if err != nil {
		return nil, err
	}
	iss, _ := claims["iss"].(string)
	check := claimsCheck{claims: claims, now: time.Now()}
	switch {
	case iss == "" || !slices.Contains(issuers, iss):
		return nil, errors.New("iss is not the provider: " + otherIssuer(iss, issuers...))
	case audience == "" || !slices.Contains(audiences(claims), any(audience)):
		return nil, errors.New("aud names another audience")
	case claims["exp"] == nil:
		return nil, errors.New("exp is missing or not a number")
	}
	if err := check.optionalTimes(); err != nil {
		return nil, err
	}
	return claims, check.kind()
}

// maxKeySets limits the key sets of a JWTVerifier; a provider has one or two.
const maxKeySets = 8

// keySet finds or makes the key set at a URL; empty means the provider's own.
func (v *JWTVerifier) keySet(from string) (*cached[[]jose.JSONWebKey], error) {
	if from == "" {
		return v.own, nil
	}
	if err := v.outbound.CheckURL(from); err != nil {
		return nil, err
	}
	if u, err := url.Parse(from); err != nil || !v.outbound.MayCall(u) {
		return nil, errors.New("the configuration does not name the host of the keys")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if set := v.sets[from]; set != nil {
		return set, nil
	}
	if len(v.sets) == maxKeySets {
		return nil, errors.New("too many key sets")
	}
	set := &cached[[]jose.JSONWebKey]{fetch: func(ctx context.Context) ([]jose.JSONWebKey, error) {
		return fetchKeysAt(ctx, v.outbound, from)
	}}
	v.sets[from] = set
	return set, nil
}
