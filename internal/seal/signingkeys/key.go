// Package signingkeys manages the keys that sign tokens for other programs. It makes,
// names and encodes keys, and decides when each key of a set is published, signs and is
// removed. It uses no store, no clock and no secrets other than the keys.
package signingkeys

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// The signing algorithms (RFC 7518 section 3.1, RFC 8037 section 3.1).
const (
	ES256 = "ES256"
	EdDSA = "EdDSA" // with Ed25519
	RS256 = "RS256"
)

// Algorithms returns the supported algorithms, the default first.
func Algorithms() []string { return []string{ES256, EdDSA, RS256} }

// rsaBits is the size of RSA keys.
const rsaBits = 2048

var errAlgorithm = errors.New("not an algorithm for signing keys")

// A Key signs with one algorithm. It is immutable.
type Key struct {
	ID   string    // the kid: RFC 7638 thumbprint, SHA-256
	Alg  string    // one of Algorithms
	Made time.Time // when the key was first published
	From time.Time // when the key begins to sign; zero: always

	private crypto.Signer
	public  json.RawMessage // as in a JWK Set
}

// Format implements [fmt.Formatter], so that no log line shows a private key.
func (k *Key) Format(f fmt.State, _ rune) { io.WriteString(f, "key "+k.ID) } //nolint:errcheck // fmt keeps it

// Generate makes a random key that begins to sign at from.
func Generate(alg string, made, from time.Time) (*Key, error) {
	var private crypto.Signer
	var err error
	switch alg {
	case ES256:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case EdDSA:
		_, private, err = ed25519.GenerateKey(rand.Reader)
	case RS256:
		private, err = rsa.GenerateKey(rand.Reader, rsaBits)
	default:
		err = errAlgorithm
	}
	if err != nil {
		return nil, err
	}
	return newKey(alg, private, made, from)
}

// Derive makes a key from secret material. material must be deterministic: it returns 32
// bytes that depend only on n. Derive does not support RS256.
func Derive(alg string, material func(n int) []byte) (*Key, error) {
	switch alg {
	case EdDSA:
		return newKey(alg, ed25519.NewKeyFromSeed(material(0)), time.Time{}, time.Time{})
	case ES256:
		for n := range 8 { // one in 2³² numbers of 256 bits is not a valid P-256 key
			if private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), material(n)); err == nil {
				return newKey(alg, private, time.Time{}, time.Time{})
			}
		}
	}
	return nil, errAlgorithm
}

func newKey(alg string, private crypto.Signer, made, from time.Time) (*Key, error) {
	if !fits(alg, private) {
		return nil, errAlgorithm
	}
	jwk := jose.JSONWebKey{Key: private.Public(), Algorithm: alg, Use: "sig"}
	sum, err := jwk.Thumbprint(crypto.SHA256)
	if err != nil {
		return nil, err
	}
	jwk.KeyID = base64.RawURLEncoding.EncodeToString(sum)
	public, err := jwk.MarshalJSON()
	return &Key{ID: jwk.KeyID, Alg: alg, Made: made, From: from, private: private, public: public}, err
}

// fits reports whether a key has the type that an algorithm requires.
func fits(alg string, private crypto.Signer) bool {
	switch k := private.(type) {
	case *ecdsa.PrivateKey:
		return alg == ES256 && k.Curve == elliptic.P256()
	case ed25519.PrivateKey:
		return alg == EdDSA
	case *rsa.PrivateKey:
		return alg == RS256 && k.N.BitLen() == rsaBits
	}
	return false
}

// Sign returns claims, a JSON object, as a compact JWS (RFC 7515 section 7.1). Its
// header has alg, kid and typ.
func (k *Key) Sign(typ string, claims []byte) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(k.Alg), Key: jose.JSONWebKey{Key: k.private, KeyID: k.ID}},
		(&jose.SignerOptions{}).WithType(jose.ContentType(typ)))
	if err != nil {
		return "", err
	}
	jws, err := signer.Sign(claims)
	if err != nil {
		return "", err
	}
	return jws.CompactSerialize()
}

// Known reports whether alg is a supported algorithm.
func Known(alg string) bool { return slices.Contains(Algorithms(), alg) }
