package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc/internal/protocol/outbound"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/strictjson"
)

// Errors of [IssuerKeys.Verify]. Any other error means that the token is malformed.
var (
	// ErrKeys says that the issuer's keys could not be fetched, so the token could not
	// be judged.
	ErrKeys = errors.New("cannot fetch the issuer's keys")
	// ErrSignature says that no key of the issuer signed the token.
	ErrSignature = errors.New("the signature does not match any key of the issuer")
)

// IssuerKeys verifies an issuer's tokens by its published keys, in a program that is
// not a client of the issuer. It is safe for concurrent use. Keys are fetched when
// first needed and again after an hour. A token that names an unknown key also causes a
// fetch, at most every 30 s. While fetching fails, old keys are used for up to a day.
type IssuerKeys struct {
	issuer   string
	outbound *outbound.Client
	keys     cached[[]jose.JSONWebKey]
}

// NewIssuerKeys returns the keys of an issuer, which are found through its metadata.
// Both must be at the issuer's origin. client may be nil. NewIssuerKeys makes no calls.
func NewIssuerKeys(issuer string, client *http.Client) (*IssuerKeys, error) {
	if u, err := url.Parse(issuer); err != nil || u.RawQuery != "" || u.Host == "" {
		return nil, errors.New("issuer: not a url")
	}
	out, err := outbound.New(outbound.Config{URLs: map[string]string{"issuer": issuer}, HTTP: client})
	if err != nil {
		return nil, err
	}
	k := &IssuerKeys{issuer: issuer, outbound: out}
	k.keys.fetch = k.fetch
	return k, nil
}

// fetch reads the metadata, and then the key set.
func (k *IssuerKeys) fetch(ctx context.Context) ([]jose.JSONWebKey, error) {
	body, err := k.outbound.Document(ctx, strings.TrimSuffix(k.issuer, "/")+"/.well-known/openid-configuration")
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	doc, err := strictjson.Object(body)
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	from, _ := doc["jwks_uri"].(string)
	switch {
	case doc["issuer"] != k.issuer:
		return nil, errors.New("metadata: issuer is not the configured one: " + otherIssuer(doc["issuer"], k.issuer))
	case outbound.CheckURL(from) != nil || weburl.OriginOf(from) != weburl.OriginOf(k.issuer):
		return nil, errors.New("metadata: jwks_uri is not an address of the issuer")
	}
	keys, err := fetchKeysAt(ctx, k.outbound, from)
	if err != nil {
		return nil, err
	}
	// A key must name its algorithm, and a token names its key.
	keys = slices.DeleteFunc(keys, func(key jose.JSONWebKey) bool { return key.Algorithm == "" || key.KeyID == "" })
	if len(keys) == 0 {
		return nil, errors.New("no key names both its id and its algorithm")
	}
	return keys, nil
}

// Verify verifies the signature of a token and returns its claims, which it does not
// check. The header must name a key, by kid, and that key's algorithm. typ must be JWT
// or at+jwt.
func (k *IssuerKeys) Verify(ctx context.Context, raw string) (Claims, error) {
	return verifyIssued(ctx, raw, func(ctx context.Context, jws *jose.JSONWebSignature) ([]byte, error) {
		payload, err := verifyBySet(ctx, &k.keys, jws)
		switch {
		case errors.Is(err, errSignature):
			return nil, ErrSignature
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrKeys, err)
		}
		return payload, nil
	})
}

// verifyIssued is [IssuerKeys.Verify] with any source of keys.
func verifyIssued(ctx context.Context, raw string, verify func(context.Context, *jose.JSONWebSignature) ([]byte, error)) (Claims, error) {
	claims, _, err := verifyJWS(ctx, raw, asymmetricAlgs, tokenJWT, func(ctx context.Context, jws *jose.JSONWebSignature) ([]byte, error) {
		header := jws.Signatures[0].Protected
		if header.KeyID == "" || header.ExtraHeaders[jose.HeaderType] == nil {
			return nil, errMalformed
		}
		return verify(ctx, jws)
	})
	return claims, err
}

// A KeySet verifies tokens by keys at hand.
type KeySet struct{ keys []jose.JSONWebKey }

// ParseKeySet reads a JWK Set (RFC 7517 section 5).
func ParseKeySet(jwks []byte) (KeySet, error) {
	keys, err := parseKeys(jwks)
	return KeySet{keys}, err
}

// Verify does what [IssuerKeys.Verify] does.
func (s KeySet) Verify(raw string) (Claims, error) {
	return verifyIssued(context.Background(), raw, func(_ context.Context, jws *jose.JSONWebSignature) ([]byte, error) {
		if payload, ok := verifyWith(s.keys, jws); ok {
			return payload, nil
		}
		return nil, ErrSignature
	})
}
