package oidc

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"testing"

	jose "github.com/go-jose/go-jose/v4"
)

func TestIDTokenAlgorithms(t *testing.T) {
	t.Parallel()
	signers := []*signer{
		{jose.RS256, "rsa", rsaKey()}, {jose.RS512, "rsa", rsaKey()}, {jose.PS256, "rsa", rsaKey()},
		newSigner("ec"), {jose.EdDSA, "ed", edKey()},
	}
	op := newProvider(t)
	for _, s := range signers {
		op.keys = append(op.keys, s.public())
	}
	client, only := op.client(t), op.client(t, func(c *Config) { c.Algs = []string{"RS256"} })
	for _, s := range signers {
		raw := s.sign(t, op.claims(), nil)
		_, err := client.VerifyIDToken(t.Context(), raw, IDTokenCheck{Nonce: testNonce})
		wantError(t, err, "")
		want := "algorithm is not allowed"
		if s.alg == jose.RS256 {
			want = ""
		}
		_, err = only.VerifyIDToken(t.Context(), raw, IDTokenCheck{Nonce: testNonce})
		wantError(t, err, want)
	}
}

// TestKeyConfusion checks that the public key, in every form that an attacker may
// guess, is not accepted as an HMAC key, even if HMAC is allowed.
func TestKeyConfusion(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	rsa := &signer{jose.RS256, "rsa", rsaKey()}
	op.keys = []any{rsa.public()}
	der, err := x509.MarshalPKIXPublicKey(&rsaKey().PublicKey)
	wantError(t, err, "")
	jwk, err := json.Marshal(rsa.public())
	wantError(t, err, "")
	asymmetric := op.client(t)
	both := op.client(t, func(c *Config) { c.Algs = []string{"RS256", "HS256"} })
	for _, secret := range [][]byte{
		der, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), jwk, rsaKey().N.Bytes(), make([]byte, 32),
		pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&rsaKey().PublicKey)}),
	} {
		raw := (&signer{jose.HS256, "rsa", secret}).sign(t, op.claims(), nil)
		_, err := asymmetric.VerifyIDToken(t.Context(), raw, IDTokenCheck{Nonce: testNonce})
		wantError(t, err, "algorithm is not allowed")
		_, err = both.VerifyIDToken(t.Context(), raw, IDTokenCheck{Nonce: testNonce})
		wantError(t, err, "signature does not match any key")
	}
	hmac := (&signer{jose.HS256, "", []byte(testSecret)}).sign(t, op.claims(), nil)
	_, err = asymmetric.VerifyIDToken(t.Context(), hmac, IDTokenCheck{Nonce: testNonce})
	wantError(t, err, "algorithm is not allowed")
	for _, raw := range []string{hmac, rsa.sign(t, op.claims(), nil)} {
		_, err = both.VerifyIDToken(t.Context(), raw, IDTokenCheck{Nonce: testNonce})
		wantError(t, err, "")
	}
}

// TestKeyFromToken checks that a token that contains or points to its key is checked
// with the provider's keys.
func TestKeyFromToken(t *testing.T) {
	t.Parallel()
	op, evil := newProvider(t), newProvider(t)
	client := op.client(t)
	for name, v := range map[string]any{
		"jku": evil.URL + "/jwks", "x5u": evil.URL + "/cert", "jwk": evil.signer.public(),
	} {
		raw := evil.signer.sign(t, op.claims(), map[string]any{name: v})
		_, err := client.VerifyIDToken(t.Context(), raw, IDTokenCheck{Nonce: testNonce})
		wantError(t, err, "signature does not match any key")
		raw = op.signer.sign(t, op.claims(), map[string]any{name: v})
		_, err = client.VerifyIDToken(t.Context(), raw, IDTokenCheck{Nonce: testNonce})
		wantError(t, err, "")
	}
	if n := evil.count("/jwks") + evil.count("/cert"); n != 0 {
		t.Errorf("%d fetches of what the token named", n)
	}
}
