package oidc

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc/internal/protocol/outbound"
	"authsvc/internal/text/strictjson"
)

const (
	maxKeys    = 64 // usable keys kept of one key set
	minRSABits = 2048
	maxRSABits = 8192 // the time to check a signature grows with it
)

var (
	errSignature = error(&Mismatch{"jwks url", errors.New("signature does not match any key of the provider")})
	errNoKeySet  = error(&Mismatch{"jwks url", errors.New("no key set url is known")})
	errSecretKey = error(&Mismatch{"client secret", errors.New("signature does not match any key of the provider: with this algorithm, the key is the client secret")})
)

// verifySignature checks the signature of a parsed token and returns the payload that
// it covers. HMAC tokens are checked only with the client secret, never with a key from
// the network. All others are checked only with keys of the provider's key set, never
// with a key that the token contains or points to.
//
// If no cached key verifies a token, the key set is fetched again, at most every 30 s
// (OpenID Connect Core 1.0, section 10.1.1).
func (c *Client) verifySignature(ctx context.Context, jws *jose.JSONWebSignature) ([]byte, error) {
	if symmetric(jose.SignatureAlgorithm(jws.Signatures[0].Protected.Algorithm)) {
		payload, err := jws.Verify([]byte(c.cfg.ClientSecret))
		if err != nil {
			return nil, errSecretKey
		}
		return payload, nil
	}
	return verifyBySet(ctx, &c.keys, jws)
}

// verifyBySet is like verifySignature, with one key set.
func verifyBySet(ctx context.Context, set *cached[[]jose.JSONWebKey], jws *jose.JSONWebSignature) ([]byte, error) {
	keys, err := set.get(ctx)
	if err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}
	if payload, ok := verifyWith(keys, jws); ok {
		return payload, nil
	}
	if err := set.renew(ctx); err != nil && !errors.Is(err, errRenewedLately) {
		return nil, fmt.Errorf("keys: %w", err)
	}
	// Also if not renewed for us: another caller may have done so meanwhile.
	keys, _ = set.last()
	if payload, ok := verifyWith(keys, jws); ok {
		return payload, nil
	}
	return nil, errSignature
}

// verifyWith tries the keys that the token's header allows: keys with its key ID, or
// all keys if it has none, except keys tied to another algorithm.
func verifyWith(keys []jose.JSONWebKey, jws *jose.JSONWebSignature) ([]byte, bool) {
	header := jws.Signatures[0].Protected
	for _, key := range keys {
		if header.KeyID != "" && key.KeyID != header.KeyID {
			continue
		}
		if key.Algorithm != "" && key.Algorithm != header.Algorithm {
			continue
		}
		if payload, err := jws.Verify(key.Key); err == nil {
			return payload, true
		}
	}
	return nil, false
}

func (c *Client) fetchKeys(ctx context.Context) ([]jose.JSONWebKey, error) {
	md, err := c.Metadata(ctx)
	if err != nil {
		return nil, err
	}
	if md.JWKSURL == "" {
		return nil, errNoKeySet
	}
	return fetchKeysAt(ctx, c.outbound, md.JWKSURL)
}

func fetchKeysAt(ctx context.Context, out *outbound.Client, from string) ([]jose.JSONWebKey, error) {
	body, err := out.Document(ctx, from)
	if err != nil {
		return nil, err
	}
	return parseKeys(body)
}

// parseKeys reads a JWK Set (RFC 7517, section 5). Unusable keys are skipped, so that
// one odd key does not disable the provider. A set without any usable key is an error.
func parseKeys(body []byte) ([]jose.JSONWebKey, error) {
	var set map[string]json.RawMessage
	if !utf8.Valid(body) || json.Unmarshal(body, &set) != nil { // Unmarshal repairs invalid UTF-8
		return nil, strictjson.ErrSyntax
	}
	var raw []json.RawMessage
	if err := json.Unmarshal(set["keys"], &raw); err != nil {
		return nil, errors.New("keys is not a list")
	}
	var keys []jose.JSONWebKey
	for _, one := range raw {
		if key, ok := parseKey(one); ok {
			keys = append(keys, key)
		}
		if len(keys) == maxKeys {
			break
		}
	}
	if len(keys) == 0 {
		return nil, &Mismatch{"jwks url", errors.New("no usable key")}
	}
	return keys, nil
}

// privateMembers reveal a private or symmetric key (RFC 7518, section 6). A key
// published with them is no longer secret.
var privateMembers = []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"}

func parseKey(raw []byte) (jose.JSONWebKey, bool) {
	var key jose.JSONWebKey
	members, err := strictjson.Object(raw)
	if err != nil || !forSignatures(members) {
		return key, false
	}
	for _, name := range privateMembers {
		if _, ok := members[name]; ok {
			return key, false
		}
	}
	// Only the members of a public key are used. Certificates and links to them are not
	// ours to parse.
	public := make(Claims)
	for _, name := range []string{"kty", "kid", "alg", "crv", "x", "y", "n", "e"} {
		if v, ok := members[name].(string); ok {
			public[name] = v
		}
	}
	clean, err := json.Marshal(public)
	if err != nil || key.UnmarshalJSON(clean) != nil {
		return key, false
	}
	return key, strong(key)
}

// forSignatures reports whether use and key_ops, if present, allow verifying.
func forSignatures(members Claims) bool {
	if use, ok := members["use"]; ok && use != "sig" {
		return false
	}
	if ops, ok := members["key_ops"]; ok {
		list, _ := ops.([]any)
		return slices.Contains(list, any("verify"))
	}
	return true
}

func strong(key jose.JSONWebKey) bool {
	if !key.Valid() {
		return false
	}
	switch k := key.Key.(type) {
	case *rsa.PublicKey:
		bits := k.N.BitLen()
		return bits >= minRSABits && bits <= maxRSABits && k.E >= 3 && k.E%2 == 1
	case *ecdsa.PublicKey:
		_, err := k.ECDH() // refuses points that are not on the curve
		return err == nil
	case ed25519.PublicKey:
		return len(k) == ed25519.PublicKeySize
	}
	return false
}
