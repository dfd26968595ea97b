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

// Errors of [IssuerKeys.Verify]. Every other one means that the token is malformed.
var (
	// ErrKeys: the keys of the issuer could not be had, so nothing is known of the
	// token.
	ErrKeys = errors.New("the keys of the issuer cannot be had")
	// ErrSignature: no key of the issuer signed the token.
	ErrSignature = errors.New("the signature is by no key of the issuer")
)

// IssuerKeys verify tokens of an issuer by its published keys, in a program that is
// no client of the issuer. They are safe for concurrent use. Keys are fetched when
// they are first needed, and again after an hour, or for a token that names an
// unknown one, at most every 30 s; while that fails, old ones serve for a day.
type IssuerKeys struct {
	issuer   string
	outbound *outbound.Client
	keys     cached[[]jose.JSONWebKey]
}

// NewIssuerKeys returns the keys of an issuer, which its metadata leads to: both
// are at the issuer's origin. client may be nil. Nothing is called.
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
		return nil, errors.New("metadata: issuer is not the configured one")
	case outbound.CheckURL(from) != nil || weburl.OriginOf(from) != weburl.OriginOf(k.issuer):
		return nil, errors.New("metadata: jwks_uri is not an address of the issuer")
	}
	keys, err := fetchKeysAt(ctx, k.outbound, from)
	if err != nil {
		return nil, err
	}
	// The algorithm is the key's to say, and the token names its key.
	keys = slices.DeleteFunc(keys, func(key jose.JSONWebKey) bool { return key.Algorithm == "" || key.KeyID == "" })
	if len(keys) == 0 {
		return nil, errors.New("no key says what it is for")
	}
	return keys, nil
}

// Verify verifies the signature of a token and returns its claims, of which nothing
// else is checked. The header has to name a key, by kid, and that key's algorithm;
// typ has to be JWT or at+jwt.
func (k *IssuerKeys) Verify(ctx context.Context, raw string) (Claims, error) {
	claims, _, err := verifyJWS(ctx, raw, asymmetricAlgs, tokenJWT, func(ctx context.Context, jws *jose.JSONWebSignature) ([]byte, error) {
		header := jws.Signatures[0].Protected
		if header.KeyID == "" || header.ExtraHeaders[jose.HeaderType] == nil {
			return nil, errMalformed
		}
		payload, err := verifyBySet(ctx, &k.keys, jws)
		switch {
		case errors.Is(err, errSignature):
			return nil, ErrSignature
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrKeys, err)
		}
		return payload, nil
	})
	return claims, err
}
