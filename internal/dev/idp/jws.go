package idp

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
)

// Signing says how an ID token is signed, correctly or not.
type Signing string

// Ways of signing. A relying party must refuse all but the first.
const (
	SignProperly      Signing = ""
	SignNone          Signing = "none"              // alg none and no signature, RFC 8725 §3.2
	SignHMACPublicKey Signing = "hmac-public-key"   // HS256 keyed with the public key in PEM, RFC 8725 §2.1
	SignHMACSecret    Signing = "hmac-secret"       // HS256 keyed with the client secret
	SignUnknownKey    Signing = "unknown-key"       // a valid signature by an unpublished key, under the published kid
	SignCorrupt       Signing = "corrupt-signature" // a valid signature with one bit flipped
)

// Sign returns claims as a compact JWS (RFC 7515 §7.1), signed with the current signing
// key and with the given typ header, such as "JWT" or "logout+jwt". A [Fault] that was
// set does not affect it.
func (p *Provider) Sign(typ string, claims map[string]any) (string, error) {
	key := p.publishedKeys()[0]
	header := map[string]any{"typ": typ, "alg": key.alg, "kid": key.kid}
	return compact(header, claims, key.sign)
}

// signIDToken signs the ID token of a client, correctly or as the faults require.
func (p *Provider) signIDToken(client Client, claims map[string]any) (string, error) {
	fault := p.fault()
	if fault.IDToken != nil {
		fault.IDToken(claims)
	}
	if fault.RawIDToken != nil {
		return fault.RawIDToken(claims), nil
	}
	key := p.publishedKeys()[0]
	header := map[string]any{"typ": "JWT", "alg": key.alg, "kid": key.kid}
	sign, err := p.signer(fault.Signing, key, client, header)
	if err != nil {
		return "", err
	}
	if fault.IDTokenHeader != nil {
		fault.IDTokenHeader(header)
	}
	return compact(header, claims, sign)
}

// signer returns the signature function and sets its alg in the header.
func (p *Provider) signer(how Signing, key *signingKey, client Client, header map[string]any) (func([]byte) ([]byte, error), error) {
	switch how {
	case SignProperly:
		return key.sign, nil
	case SignNone:
		header["alg"] = "none"
		return func([]byte) ([]byte, error) { return nil, nil }, nil
	case SignHMACPublicKey:
		header["alg"] = "HS256"
		der, err := x509.MarshalPKIXPublicKey(key.signer.Public())
		if err != nil {
			return nil, errors.New("sign: cannot encode the public key")
		}
		return hs256(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})), nil
	case SignHMACSecret:
		header["alg"] = "HS256"
		return hs256([]byte(client.Secret)), nil
	case SignUnknownKey:
		stranger, err := p.unknownKey(key.alg)
		if err != nil {
			return nil, err
		}
		return stranger.sign, nil
	case SignCorrupt:
		return func(input []byte) ([]byte, error) {
			sig, err := key.sign(input)
			if err == nil {
				sig[len(sig)/2] ^= 1
			}
			return sig, err
		}, nil
	default:
		return nil, errors.New("sign: unknown algorithm")
	}
}

// unknownKey returns a key that is never published. It is made once.
func (p *Provider) unknownKey(alg string) (*signingKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stranger == nil {
		key, err := generateKey(alg)
		if err != nil {
			return nil, err
		}
		p.stranger = key
	}
	return p.stranger, nil
}

func hs256(key []byte) func([]byte) ([]byte, error) {
	return func(input []byte) ([]byte, error) {
		mac := hmac.New(sha256.New, key)
		mac.Write(input)
		return mac.Sum(nil), nil
	}
}

func compact(header, claims map[string]any, sign func([]byte) ([]byte, error)) (string, error) {
	h, errHeader := json.Marshal(header)
	c, errClaims := json.Marshal(claims)
	if errHeader != nil || errClaims != nil {
		return "", errors.New("sign: cannot encode the header or the claims")
	}
	input := encode(h) + "." + encode(c)
	sig, err := sign([]byte(input))
	if err != nil {
		return "", err
	}
	return input + "." + encode(sig), nil
}
