package oidc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"slices"
	"strings"

	jose "github.com/go-jose/go-jose/v4"
)

// A ClientKey signs client assertions.
type ClientKey struct {
	key  crypto.Signer
	id   string // kid; may be empty
	algs []jose.SignatureAlgorithm
}

// A KeyError says why a text is not a signing key, and how to fix it. It never quotes
// the text.
type KeyError struct{ Problem, Fix string }

// Error implements error.
func (e *KeyError) Error() string { return e.Problem }

var (
	errNoKey     = &KeyError{"is neither PEM text nor a JWK", "give the whole file, from BEGIN PRIVATE KEY on, or a private JWK"}
	errPublicKey = &KeyError{"is a public key", "give the private key; the public key is for the provider"}
	errKeyKind   = &KeyError{"is of a kind that is not supported", "use an EC key on P-256 or P-384, an Ed25519 key, or an RSA key of 2048 to 8192 bits"}
	errKeyAlg    = &KeyError{"names an algorithm (alg) that is not supported for its kind", "use ES256, ES384, EdDSA, RS256 or PS256, whichever fits the key, or leave alg out"}
	errKeyParts  = &KeyError{"has parts that do not belong together", "make a new key"}
	errKeyForm   = &KeyError{"is PEM text, but not PKCS #8", "convert it: openssl pkcs8 -topk8 -nocrypt -in key.pem"}
	errKeySealed = &KeyError{"is encrypted", "decrypt it: openssl pkcs8 -in key.pem"}
	errKeyShort  = &KeyError{"is an RSA key of under 2048 bits", "make a new key"}
)

// ParseClientKey reads a private key, as PKCS #8 in PEM or as a JWK: ECDSA on P-256 or
// P-384, Ed25519, or RSA of 2048 to 8192 bits. In PEM, \n may stand for the end of a
// line. id is the key's kid; if empty, the JWK's own kid is used, if any. Errors are a
// [*KeyError].
func ParseClientKey(text, id string) (*ClientKey, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "{") {
		return parseJWK([]byte(text), id)
	}
	block, _ := pem.Decode([]byte(strings.ReplaceAll(text, `\n`, "\n")))
	if block == nil {
		return nil, errNoKey
	}
	switch kind := block.Type; {
	case kind == "PRIVATE KEY":
	case kind == "ENCRYPTED PRIVATE KEY":
		return nil, errKeySealed
	case kind == "EC PARAMETERS", strings.HasSuffix(kind, " PRIVATE KEY"):
		return nil, errKeyForm
	case kind == "CERTIFICATE", strings.HasSuffix(kind, "PUBLIC KEY"):
		return nil, errPublicKey
	default:
		return nil, errNoKey
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errKeyForm
	}
	return newClientKey(key, id, "")
}

func parseJWK(text []byte, id string) (*ClientKey, error) {
	var jwk jose.JSONWebKey
	if json.Unmarshal(text, &jwk) != nil {
		return nil, errNoKey
	}
	if id == "" {
		id = jwk.KeyID
	}
	return newClientKey(jwk.Key, id, jwk.Algorithm)
}

// newClientKey accepts a key that can sign, and makes one signature as a test.
func newClientKey(key any, id, alg string) (*ClientKey, error) {
	k := &ClientKey{id: id}
	var err error
	if k.algs, err = keyAlgs(key); err != nil {
		return nil, err
	}
	if alg != "" {
		if !slices.Contains(k.algs, jose.SignatureAlgorithm(alg)) {
			return nil, errKeyAlg
		}
		k.algs = []jose.SignatureAlgorithm{jose.SignatureAlgorithm(alg)}
	}
	k.key = key.(crypto.Signer) // all keys that keyAlgs accepts are signers
	if !k.works() {
		return nil, errKeyParts
	}
	return k, nil
}

// keyAlgs returns the algorithms of a private key, the default first. For RSA, the
// default is the algorithm that every server supports.
func keyAlgs(key any) ([]jose.SignatureAlgorithm, error) {
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if k.N.BitLen() < minRSABits {
			return nil, errKeyShort
		}
		if k.N.BitLen() > maxRSABits {
			return nil, errKeyKind
		}
		k.Precompute()
		return []jose.SignatureAlgorithm{jose.RS256, jose.PS256}, nil
	case *ecdsa.PrivateKey:
		switch k.Curve {
		case elliptic.P256():
			return []jose.SignatureAlgorithm{jose.ES256}, nil
		case elliptic.P384():
			return []jose.SignatureAlgorithm{jose.ES384}, nil
		}
	case ed25519.PrivateKey:
		return []jose.SignatureAlgorithm{jose.EdDSA}, nil
	case *rsa.PublicKey, *ecdsa.PublicKey, ed25519.PublicKey:
		return nil, errPublicKey
	}
	return nil, errKeyKind
}

// works reports whether the public half verifies signatures of the private half. In a
// JWK, the two are separate members and may not match.
func (k *ClientKey) works() bool {
	signed, err := k.sign(k.algs[0], []byte("{}"))
	if err != nil {
		return false
	}
	jws, err := jose.ParseSignedCompact(signed, k.algs)
	if err != nil {
		return false
	}
	_, err = jws.Verify(k.key.Public())
	return err == nil
}

// sign makes a compact JWT.
func (k *ClientKey) sign(alg jose.SignatureAlgorithm, claims []byte) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: k.key, KeyID: k.id}},
		(&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", errors.New("client assertion: cannot sign with the key")
	}
	jws, err := signer.Sign(claims)
	if err != nil {
		return "", errors.New("client assertion: cannot sign with the key")
	}
	return jws.CompactSerialize()
}

// String names the algorithms, but nothing about the key.
func (k *ClientKey) String() string {
	names := make([]string, len(k.algs))
	for i, alg := range k.algs {
		names[i] = string(alg)
	}
	return strings.Join(names, " or ")
}
