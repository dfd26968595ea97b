// Package signingkeys has the keys that sign tokens for other programs: how one
// is made, named and written down, and when each of a set is published, signs
// and goes. It knows no store, no clock and no secrets but the keys themselves.
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

// The algorithms (RFC 7518 section 3.1, RFC 8037 section 3.1).
const (
	ES256 = "ES256"
	EdDSA = "EdDSA" // with Ed25519
	RS256 = "RS256"
)

// Algorithms are those that a key can be made for, the default first.
func Algorithms() []string { return []string{ES256, EdDSA, RS256} }

// rsaBits is the size of RSA keys.
const rsaBits = 2048

var errAlgorithm = errors.New("not an algorithm of signing keys")

// A Key signs with one algorithm. It is never changed.
type Key struct {
	ID   string    // the kid: RFC 7638 thumbprint, SHA-256
	Alg  string    // one of Algorithms
	Made time.Time // published since
	From time.Time // signs from then on; zero: always did

	private crypto.Signer
	public  json.RawMessage // as in a JWK Set
}

// Format implements [fmt.Formatter], so that no log line shows a private key.
func (k *Key) Format(f fmt.State, _ rune) { io.WriteString(f, "key "+k.ID) } //nolint:errcheck // fmt keeps it

// Generate makes a random key that signs from the time from on.
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

// Derive makes the key that follows from secret material: material returns 32
// bytes for each number, always the same. RS256 has no such key.
func Derive(alg string, material func(n int) []byte) (*Key, error) {
	switch alg {
	case EdDSA:
		return newKey(alg, ed25519.NewKeyFromSeed(material(0)), time.Time{}, time.Time{})
	case ES256:
		for n := range 8 { // one in 2³² numbers of 256 bits is none of the group's
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

// fits reports whether a key is of the kind that an algorithm takes.
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

// Sign returns claims, a JSON object, as a compact JWS (RFC 7515 section 7.1)
// whose header has alg, kid and typ.
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

// Known reports whether keys can be made for an algorithm.
func Known(alg string) bool { return slices.Contains(Algorithms(), alg) }
