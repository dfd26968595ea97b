package idp

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// Signature algorithms of RFC 7518 §3.1 that this package implements.
const (
	algRS256 = "RS256"
	algES256 = "ES256"
)

func checkAlg(alg string) error {
	if alg != "" && alg != algRS256 && alg != algES256 {
		return fmt.Errorf("alg %q must be RS256 or ES256", alg)
	}
	return nil
}

// signingKey is a private key with its public form.
type signingKey struct {
	signer crypto.Signer
	alg    string
	kid    string         // JWK thumbprint, RFC 7638: the same after a restart
	jwk    map[string]any // RFC 7517, never changed
}

func generateKey(alg string) (*signingKey, error) {
	var signer crypto.Signer
	var err error
	if alg == algES256 {
		signer, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	} else {
		signer, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot generate the signing key: %w", err)
	}
	return newSigningKey(signer)
}

func parseSigningKey(der []byte) (*signingKey, error) {
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("not a PKCS #8 private key")
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, errors.New("not a signing key")
	}
	return newSigningKey(signer)
}

func newSigningKey(signer crypto.Signer) (*signingKey, error) {
	alg, required, err := publicJWK(signer.Public())
	if err != nil {
		return nil, err
	}
	// Map keys are marshalled in sorted order, the form that RFC 7638 §3 hashes.
	canonical, err := json.Marshal(required)
	if err != nil {
		return nil, errors.New("signing key: cannot encode the public key")
	}
	thumbprint := sha256.Sum256(canonical)
	kid := encode(thumbprint[:])
	jwk := map[string]any{"alg": alg, "use": "sig", "kid": kid}
	for name, value := range required {
		jwk[name] = value
	}
	return &signingKey{signer: signer, alg: alg, kid: kid, jwk: jwk}, nil
}

// publicJWK returns the algorithm of a key and the required members of its JWK
// (RFC 7518 §6.2.1 and §6.3.1).
func publicJWK(public crypto.PublicKey) (alg string, jwk map[string]string, err error) {
	switch pub := public.(type) {
	case *rsa.PublicKey:
		if pub.N.BitLen() < 2048 {
			return "", nil, errors.New("signing key: an RSA key must have at least 2048 bits")
		}
		e := big.NewInt(int64(pub.E)).Bytes()
		return algRS256, map[string]string{"kty": "RSA", "n": encode(pub.N.Bytes()), "e": encode(e)}, nil
	case *ecdsa.PublicKey:
		if pub.Curve != elliptic.P256() {
			return "", nil, errors.New("signing key: an ECDSA key must be on P-256")
		}
		point, err := pub.Bytes() // 4 || X || Y
		if err != nil {
			return "", nil, errors.New("signing key: not a point of P-256")
		}
		return algES256, map[string]string{"kty": "EC", "crv": "P-256", "x": encode(point[1:33]), "y": encode(point[33:])}, nil
	default:
		return "", nil, errors.New("signing key must be RSA or ECDSA on P-256")
	}
}

// sign returns the JWS signature of input (RFC 7518 §3.3 and §3.4).
func (k *signingKey) sign(input []byte) ([]byte, error) {
	digest := sha256.Sum256(input)
	sig, err := k.signer.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	if k.alg != algES256 {
		return sig, nil
	}
	// Signers return ASN.1; JWS requires R and S side by side.
	var rs struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(sig, &rs); err != nil {
		return nil, errors.New("sign: malformed ECDSA signature")
	}
	raw := make([]byte, 64)
	rs.R.FillBytes(raw[:32])
	rs.S.FillBytes(raw[32:])
	return raw, nil
}

// maxKeys limits the published keys.
const maxKeys = 8

// RotateKey makes a new key of the same kind the signing key. The last few older keys
// stay published, so that tokens on their way remain valid.
func (p *Provider) RotateKey() error {
	key, err := generateKey(p.alg)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	keys := slices.Insert(slices.Clone(p.keys), 0, key)
	return p.setKeys(keys[:min(len(keys), maxKeys)])
}

// RevokeOldKeys publishes only the signing key, as after a key compromise.
func (p *Provider) RevokeOldKeys() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.setKeys(slices.Clone(p.keys[:1]))
}

func (p *Provider) setKeys(keys []*signingKey) error {
	if err := p.save(p.people, keys); err != nil {
		return err
	}
	p.keys = keys
	return nil
}

// publishedKeys returns the keys of the JWKS, the signing key first.
func (p *Provider) publishedKeys() []*signingKey {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.keys // replaced as a whole, never changed in place
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
