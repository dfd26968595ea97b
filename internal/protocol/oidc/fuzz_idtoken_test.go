package oidc

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// FuzzIDToken signs any payload under any typ and damages the token anywhere. It checks
// that accepted tokens are signed by the provider, as verified by crypto/ecdsa, and
// have the claims that this sign-in expects.
func FuzzIDToken(f *testing.F) {
	const issuer = "https://idp.example"
	key := newSigner("fuzz")
	client, err := New(Config{Issuer: issuer, ClientID: testClient, OpenID: true, HTTP: &http.Client{Transport: published{
		"/.well-known/openid-configuration": map[string]any{"issuer": issuer, "authorization_endpoint": issuer + "/a", "token_endpoint": issuer + "/t", "jwks_uri": issuer + "/k"},
		"/k":                                map[string]any{"keys": []any{key.public()}},
	}}})
	if err != nil {
		f.Fatal(err)
	}
	now := time.Now()
	good := map[string]any{"iss": issuer, "aud": testClient, "sub": "u", "nonce": testNonce, "iat": now.Unix(), "exp": now.Add(1000 * time.Hour).Unix()}
	goodPayload := ""
	add := func(change map[string]any) {
		all := map[string]any{}
		for _, m := range []map[string]any{good, change} {
			for name, v := range m {
				all[name] = v
			}
		}
		raw, err := json.Marshal(all)
		if err != nil {
			f.Fatal(err)
		}
		if change == nil {
			goodPayload = string(raw)
		}
		f.Add(string(raw), "JWT", 0, byte(0))
		f.Add(string(raw), "at+jwt", 0, byte(0))
		f.Add(string(raw), "JWT", len(raw)*4/3+60, byte(1))
	}
	for _, change := range []map[string]any{nil, {"aud": []string{testClient, "other"}}, {"azp": "other"}, {"iss": "https://evil.test"}, {"nonce": "x"}, {"exp": 1}, {"exp": "9999999999"}, {"sub": 1}, {"aud": []any{}}, {"iat": json.Number("1e300")}} {
		add(change)
	}
	f.Add(`{"iss":"a","iss":"b"}`, "JWT", 0, byte(0))
	f.Add("", "", 1, byte(255))
	public := &key.key.(*ecdsa.PrivateKey).PublicKey
	f.Fuzz(func(t *testing.T, payload, typ string, at int, flip byte) {
		if len(payload) > maxIDToken {
			return
		}
		token := []byte(key.sign(t, payload, map[string]any{"typ": typ}))
		if at < 0 {
			at = -(at + 1)
		}
		token[at%len(token)] ^= flip
		whole := flip == 0
		claims, err := client.VerifyIDToken(t.Context(), string(token), IDTokenCheck{Nonce: testNonce})
		if whole && typ == "JWT" && payload == goodPayload && err != nil {
			t.Fatalf("twin: %v", err)
		}
		if err != nil {
			if claims != nil || len(err.Error()) > 500 || strings.ContainsFunc(err.Error(), notPrintable) {
				t.Fatalf("%v beside %q", claims, err)
			}
			return
		}
		if !signedBy(public, string(token)) {
			t.Fatalf("%q passes without a signature", token)
		}
		if !slowClaims(claims, issuer) {
			t.Fatalf("%v passes", claims)
		}
	})
}

// published answers with documents by path.
type published map[string]map[string]any

// RoundTrip implements [http.RoundTripper].
func (p published) RoundTrip(r *http.Request) (*http.Response, error) {
	raw, err := json.Marshal(p[r.URL.Path])
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(raw)), Request: r}, err
}

// signedBy verifies ES256 with crypto/ecdsa only.
func signedBy(key *ecdsa.PublicKey, token string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || len(raw) != 64 {
		return false
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	return ecdsa.Verify(key, sum[:], new(big.Int).SetBytes(raw[:32]), new(big.Int).SetBytes(raw[32:]))
}

// slowClaims checks the claims that must be right.
func slowClaims(c Claims, issuer string) bool {
	number := func(name string) float64 {
		n, _ := c[name].(json.Number)
		v, _ := n.Float64()
		return v
	}
	aud, _ := c["aud"].([]any)
	if one, ok := c["aud"].(string); ok {
		aud = []any{one}
	}
	sub, _ := c["sub"].(string)
	now := float64(time.Now().Unix())
	return c["iss"] == issuer && slices.Contains(aud, any(testClient)) && (len(aud) == 1 || c["azp"] == testClient) && sub != "" && len(sub) <= 255 &&
		c["nonce"] == testNonce && number("exp") > now-61 && number("iat") < now+61 && number("iat") > now-86_400-61
}
