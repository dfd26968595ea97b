package verify

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	_ "crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"sync"
)

// Test keys, generated once.
var (
	oidcRSA   = sync.OnceValue(func() *rsa.PrivateKey { return oidcMade(rsa.GenerateKey(rand.Reader, 2048)) })
	oidcES256 = sync.OnceValue(func() *ecdsa.PrivateKey { return oidcMade(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) })
	oidcES384 = sync.OnceValue(func() *ecdsa.PrivateKey { return oidcMade(ecdsa.GenerateKey(elliptic.P384(), rand.Reader)) })
	oidcES512 = sync.OnceValue(func() *ecdsa.PrivateKey { return oidcMade(ecdsa.GenerateKey(elliptic.P521(), rand.Reader)) })
	oidcEd    = sync.OnceValue(func() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(make([]byte, 32)) })
)

func oidcMade[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func oidcBase64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

func oidcPart(v any) string { return oidcBase64(oidcMade(json.Marshal(v))) }

// oidcSign makes a compact JWS with the header's alg. If the key's type does not fit
// alg, the key's own algorithm is used. A nil key makes an empty signature.
func oidcSign(header map[string]any, claims, key any) string {
	input := oidcPart(header) + "." + oidcPart(claims)
	alg, _ := header["alg"].(string)
	return input + "." + oidcBase64(oidcSignature(alg, key, []byte(input)))
}

func oidcSignature(alg string, key any, input []byte) []byte {
	hash := crypto.SHA256
	switch {
	case strings.HasSuffix(alg, "384"):
		hash = crypto.SHA384
	case strings.HasSuffix(alg, "512"):
		hash = crypto.SHA512
	}
	h := hash.New()
	h.Write(input)
	digest := h.Sum(nil)
	switch k := key.(type) {
	case []byte:
		mac := hmac.New(hash.New, k)
		mac.Write(input)
		return mac.Sum(nil)
	case ed25519.PrivateKey:
		return ed25519.Sign(k, input)
	case *rsa.PrivateKey:
		if strings.HasPrefix(alg, "PS") {
			return oidcMade(rsa.SignPSS(rand.Reader, k, hash, digest, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash}))
		}
		return oidcMade(rsa.SignPKCS1v15(rand.Reader, k, hash, digest))
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, k, digest)
		if err != nil {
			panic(err)
		}
		size := (k.Curve.Params().BitSize + 7) / 8
		return append(r.FillBytes(make([]byte, size)), s.FillBytes(make([]byte, size))...)
	case *oidcWeakRSA:
		return k.sign(digest)
	}
	return nil
}

// oidcJWK returns the public JWK of a key.
func oidcJWK(key any, alg, kid string) map[string]any {
	m := map[string]any{"use": "sig", "alg": alg, "kid": kid}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		m["kty"], m["n"], m["e"] = "RSA", oidcBase64(k.N.Bytes()), oidcBase64(big.NewInt(int64(k.E)).Bytes())
	case *oidcWeakRSA:
		m["kty"], m["n"], m["e"] = "RSA", oidcBase64(k.n.Bytes()), oidcBase64(k.e.Bytes())
	case *ecdsa.PrivateKey:
		point := oidcMade(k.PublicKey.Bytes())[1:]
		m["kty"], m["crv"] = "EC", k.Curve.Params().Name
		m["x"], m["y"] = oidcBase64(point[:len(point)/2]), oidcBase64(point[len(point)/2:])
	case ed25519.PrivateKey:
		m["kty"], m["crv"], m["x"] = "OKP", "Ed25519", oidcBase64(k.Public().(ed25519.PublicKey))
	}
	return m
}

// oidcPublish adds keys after those of the provider.
func oidcPublish(more ...map[string]any) func([]map[string]any) []map[string]any {
	return func(keys []map[string]any) []map[string]any { return append(keys, more...) }
}

// oidcWeakRSA is a key that crypto/rsa refuses to make.
type oidcWeakRSA struct{ n, e, d *big.Int }

// oidcRSA512 has 512 bits.
var oidcRSA512 = sync.OnceValue(func() *oidcWeakRSA {
	one, e := big.NewInt(1), big.NewInt(65537)
	for {
		p, q := oidcMade(rand.Prime(rand.Reader, 256)), oidcMade(rand.Prime(rand.Reader, 256))
		phi := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
		if d := new(big.Int).ModInverse(e, phi); d != nil {
			return &oidcWeakRSA{new(big.Int).Mul(p, q), e, d}
		}
	}
})

// sign signs with RSASSA-PKCS1-v1_5 and SHA-256 (RFC 8017, section 8.2.1).
func (k *oidcWeakRSA) sign(digest []byte) []byte {
	size := (k.n.BitLen() + 7) / 8
	info := append([]byte{0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20}, digest...)
	em := make([]byte, size)
	em[1] = 1
	for i := 2; i < size-len(info)-1; i++ {
		em[i] = 0xff
	}
	copy(em[size-len(info):], info)
	return new(big.Int).Exp(new(big.Int).SetBytes(em), k.d, k.n).FillBytes(make([]byte, size))
}
