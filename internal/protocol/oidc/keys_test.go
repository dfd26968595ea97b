package oidc

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

func TestParseKeys(t *testing.T) {
	t.Parallel()
	good := newSigner("good")
	with := func(name string, v any) map[string]any {
		k := newSigner("bad").public()
		k[name] = v
		return k
	}
	rsaPublic := func(n *big.Int, e string) map[string]any {
		return map[string]any{"kty": "RSA", "kid": "bad", "n": base64.RawURLEncoding.EncodeToString(n.Bytes()), "e": e}
	}
	odd := func(bits uint) *big.Int {
		n := new(big.Int).Lsh(big.NewInt(1), bits-1)
		return n.Add(n, big.NewInt(1))
	}
	private, err := json.Marshal(jose.JSONWebKey{Key: ecKey(), KeyID: "bad"})
	wantError(t, err, "")
	bad := map[string]any{
		"oct":             map[string]any{"kty": "oct", "kid": "bad", "k": base64.RawURLEncoding.EncodeToString(make([]byte, 32))},
		"private":         json.RawMessage(private),
		"private by null": with("d", nil),
		"use enc":         with("use", "enc"),
		"use list":        with("use", []string{"sig"}),
		"key_ops":         with("key_ops", []string{"encrypt"}),
		"key_ops text":    with("key_ops", "verify"),
		"off curve":       with("x", base64.RawURLEncoding.EncodeToString(make([]byte, 32))),
		"other curve":     with("crv", "secp256k1"),
		"unknown kty":     map[string]any{"kty": "QUANTUM"},
		"no kty":          map[string]any{"kid": "bad"},
		"duplicate":       json.RawMessage(`{"kty":"OKP","kty":"EC"}`),
		"RSA 512":         rsaPublic(odd(512), "AQAB"),
		"RSA 2047":        rsaPublic(odd(2047), "AQAB"),
		"RSA 16384":       rsaPublic(odd(16384), "AQAB"),
		"RSA e=1":         rsaPublic(rsaKey().N, "AQ"),
		"RSA e=2":         rsaPublic(rsaKey().N, "Ag"),
		"Ed448":           map[string]any{"kty": "OKP", "crv": "Ed448", "x": "AAAA"},
		"Ed25519 short":   map[string]any{"kty": "OKP", "crv": "Ed25519", "x": "AAAA"},
		"string":          "key",
		"null":            nil,
		"deep":            json.RawMessage(strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)),
	}
	var all []any
	for name, k := range bad {
		all = append(all, k)
		body, err := json.Marshal(map[string]any{"keys": []any{k}})
		wantError(t, err, "")
		if _, err := parseKeys(body); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	all = append(all, good.public(), rsaPublic(rsaKey().N, "AQAB"), (&signer{jose.EdDSA, "ed", edKey()}).public())
	body, err := json.Marshal(map[string]any{"keys": all})
	wantError(t, err, "")
	keys, err := parseKeys(body)
	wantError(t, err, "")
	if len(keys) != 3 || keys[0].KeyID != "good" {
		t.Errorf("%d keys", len(keys))
	}
}

func TestParseKeysBounds(t *testing.T) {
	t.Parallel()
	key, err := json.Marshal(newSigner("k").public())
	wantError(t, err, "")
	oct := `{"kty":"oct","k":"AAAA"}`
	body := `{"keys":[` + strings.Repeat(oct+",", 10000) + string(key) + `]}`
	keys, err := parseKeys([]byte(body))
	wantError(t, err, "")
	if len(keys) != 1 {
		t.Errorf("%d keys behind 10 000 useless ones", len(keys))
	}
	keys, err = parseKeys([]byte(`{"keys":[` + strings.Repeat(string(key)+",", 500) + string(key) + `]}`))
	wantError(t, err, "")
	if len(keys) != maxKeys {
		t.Errorf("%d keys", len(keys))
	}
	for _, body := range []string{``, `{}`, `[]`, `{"keys":{}}`, `{"keys":[]}`, `{"keys":null}`, `<html>`, `{"keys":[` + string(key)} {
		if _, err := parseKeys([]byte(body)); err == nil {
			t.Errorf("%q accepted", body)
		}
	}
}

func TestKeySelection(t *testing.T) {
	t.Parallel()
	first, second, noKid := newSigner("same"), newSigner("same"), newSigner("")
	tied := &signer{jose.RS256, "tied", rsaKey()}
	tiedKey := tied.public()
	tiedKey["alg"] = "PS256"
	op := newProvider(t)
	op.keys = []any{first.public(), second.public(), noKid.public(), tiedKey}
	tests := []struct {
		name   string
		signer *signer
		want   string
	}{
		{"kid twice, first", first, ""},
		{"kid twice, second", second, ""},
		{"no kid in token", noKid, ""},
		{"no kid in token, key has one", &signer{jose.ES256, "", second.key}, ""},
		{"other kid", &signer{jose.ES256, "other", first.key}, "signature does not match any key"},
		{"unknown key", newSigner("same"), "signature does not match any key"},
		{"unknown key, no kid", newSigner(""), "signature does not match any key"},
		{"key tied to another algorithm", tied, "signature does not match any key"},
		{"key tied to this algorithm", &signer{jose.PS256, "tied", rsaKey()}, ""},
	}
	client := op.client(t)
	for _, tt := range tests {
		_, err := client.VerifyIDToken(t.Context(), tt.signer.sign(t, op.claims(), nil), IDTokenCheck{Nonce: testNonce})
		if (err == nil) != (tt.want == "") {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	client := op.client(t)
	check := IDTokenCheck{Nonce: testNonce}
	old := op.signer.sign(t, op.claims(), nil)
	_, err := client.VerifyIDToken(t.Context(), old, check)
	wantError(t, err, "")
	op.rotate("key-2")
	_, err = client.VerifyIDToken(t.Context(), op.signer.sign(t, op.claims(), nil), check)
	wantError(t, err, "")
	if n := op.count("/jwks"); n != 2 {
		t.Errorf("%d fetches", n)
	}
	_, err = client.VerifyIDToken(t.Context(), old, check)
	wantError(t, err, "signature does not match any key")
	if n := op.count("/jwks"); n != 2 {
		t.Errorf("%d fetches, the second renewal came too early", n)
	}
}

// TestKeyRotationSameID checks that a rotation that keeps the key ID is also noticed.
func TestKeyRotationSameID(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	client := op.client(t)
	for range 2 {
		_, err := client.VerifyIDToken(t.Context(), op.signer.sign(t, op.claims(), nil), IDTokenCheck{Nonce: testNonce})
		wantError(t, err, "")
		op.rotate("key-1")
	}
}

func TestJWKSStorm(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	client := op.client(t)
	good := op.signer.sign(t, op.claims(), nil)
	stranger := newSigner("")
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for j := range 4 {
				bad := (&signer{jose.ES256, fmt.Sprintf("random-%d-%d", i, j), stranger.key}).sign(t, op.claims(), nil)
				if _, err := client.VerifyIDToken(t.Context(), bad, IDTokenCheck{Nonce: testNonce}); err == nil {
					t.Error("accepted")
				}
				if _, err := client.VerifyIDToken(t.Context(), good, IDTokenCheck{Nonce: testNonce}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if d, k := op.count("/.well-known/openid-configuration"), op.count("/jwks"); d != 1 || k > 2 {
		t.Errorf("%d fetches of metadata, %d of keys", d, k)
	}
}

func TestRenewalInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, hits := newSigner("k"), map[string]int{}
		client := offline(t, s, Config{}, hits)
		for i, wait := range []time.Duration{0, 0, renewEvery - time.Second, time.Second} {
			time.Sleep(wait)
			raw := newSigner("stranger").sign(t, map[string]any{}, nil)
			if _, err := client.VerifyIDToken(t.Context(), raw, IDTokenCheck{}); err == nil {
				t.Error("accepted")
			}
			if want := []int{2, 2, 2, 3}[i]; hits["/jwks"] != want {
				t.Errorf("step %d: %d fetches, want %d", i, hits["/jwks"], want)
			}
		}
	})
}

// TestJWKSOutage checks that, while the key endpoint is down, known keys are used for a
// day and no longer.
func TestJWKSOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSigner("k")
		down := false
		client, err := New(Config{
			Issuer: "https://idp.example", AuthorizationURL: "https://idp.example/a", TokenURL: "https://idp.example/t",
			JWKSURL: "https://idp.example/jwks", ClientID: testClient, OpenID: true,
			HTTP: &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				if down {
					return response(503, nil), nil
				}
				return response(200, map[string]any{"keys": []any{s.public()}}), nil
			})},
		})
		wantError(t, err, "")
		login := func() error {
			now := time.Now().Unix()
			raw := s.sign(t, map[string]any{"iss": "https://idp.example", "sub": "u", "aud": testClient, "iat": now, "exp": now + 60}, nil)
			_, err := client.VerifyIDToken(t.Context(), raw, IDTokenCheck{})
			return err
		}
		down = true
		wantError(t, login(), "keys: identity provider unavailable")
		down = false
		wantError(t, login(), "unavailable") // nothing cached, and too early for another fetch
		time.Sleep(retryAfter)
		wantError(t, login(), "")
		down = true
		for _, wait := range []time.Duration{time.Minute, 2 * time.Hour, 20 * time.Hour} {
			time.Sleep(wait)
			wantError(t, login(), "")
		}
		time.Sleep(2 * time.Hour)
		wantError(t, login(), "unavailable")
		down = false
		time.Sleep(retryAfter)
		wantError(t, login(), "")
	})
}

// TestKeyRevoked checks that a key removed from the set is used until the cache
// expires.
func TestKeyRevoked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		published, hits := newSigner("k"), map[string]int{}
		old := *published
		client := offline(t, published, Config{}, hits)
		login := func(s *signer) error {
			now := time.Now().Unix()
			raw := s.sign(t, map[string]any{"iss": "https://idp.example", "sub": "u", "aud": testClient, "iat": now, "exp": now + 60}, nil)
			_, err := client.VerifyIDToken(t.Context(), raw, IDTokenCheck{})
			return err
		}
		wantError(t, login(&old), "")
		*published = *newSigner("k2")
		wantError(t, login(&old), "")
		time.Sleep(freshFor)
		wantError(t, login(&old), "signature does not match any key")
		wantError(t, login(published), "")
	})
}

func TestRSAKeySizes(t *testing.T) {
	t.Parallel()
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	wantError(t, err, "")
	op := newProvider(t)
	bad := &signer{jose.RS256, "weak", weak}
	op.keys = append(op.keys, bad.public())
	client := op.client(t)
	_, err = client.VerifyIDToken(t.Context(), bad.sign(t, op.claims(), nil), IDTokenCheck{Nonce: testNonce})
	wantError(t, err, "signature does not match any key")
	_, err = client.VerifyIDToken(t.Context(), op.signer.sign(t, op.claims(), nil), IDTokenCheck{Nonce: testNonce})
	wantError(t, err, "")
}
