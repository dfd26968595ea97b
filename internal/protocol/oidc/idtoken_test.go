package oidc

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	jose "github.com/go-jose/go-jose/v4"
)

func TestIDTokenClaims(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	client := op.client(t)
	set := func(name string, v any) func(map[string]any) { return func(c map[string]any) { c[name] = v } }
	drop := func(name string) func(map[string]any) { return func(c map[string]any) { delete(c, name) } }
	tests := []struct {
		name string
		mod  func(map[string]any)
		want string
	}{
		{"good", func(map[string]any) {}, ""},
		{"iss host", set("iss", "https://evil.example"), "iss is not"},
		{"iss slash", set("iss", op.URL+"/"), "iss is not"},
		{"iss case", set("iss", strings.ToUpper(op.URL)), "iss is not"},
		{"iss missing", drop("iss"), "iss is not"},
		{"iss list", set("iss", []string{op.URL}), "iss is not"},
		{"aud list", set("aud", []string{testClient}), ""},
		{"aud other", set("aud", "other"), "aud is not"},
		{"aud prefix", set("aud", testClient+"0"), "aud is not"},
		{"aud missing", drop("aud"), "aud is not"},
		{"aud empty", set("aud", []string{}), "aud is not"},
		{"aud numbers", set("aud", []any{testClient, 1}), "aud is not a string"},
		{"aud two, azp missing", set("aud", []string{testClient, "other"}), "azp"},
		{"aud two, azp other", func(c map[string]any) { c["aud"], c["azp"] = []string{testClient, "other"}, "other" }, "azp"},
		{"aud two, azp ours", func(c map[string]any) { c["aud"], c["azp"] = []string{testClient, "other"}, testClient }, ""},
		{"azp ours", set("azp", testClient), ""},
		{"azp other", set("azp", "other"), "azp"},
		{"azp null", set("azp", nil), "azp"},
		{"sub missing", drop("sub"), "sub is missing"},
		{"sub empty", set("sub", ""), "sub is missing"},
		{"sub number", set("sub", 1), "sub is missing"},
		{"sub 255", set("sub", strings.Repeat("x", 255)), ""},
		{"sub 256", set("sub", strings.Repeat("x", 256)), "too long"},
		{"sub control", set("sub", "a\nb"), "plain text"},
		{"sub replacement", set("sub", "a\ufffdb"), "plain text"},
		{"exp missing", drop("exp"), "exp is missing"},
		{"exp text", set("exp", "9999999999"), "exp is missing or not a number"},
		{"exp negative", set("exp", -1), "plausible"},
		{"exp far", set("exp", json.Number("1e300")), "plausible"},
		{"exp fraction", set("exp", json.Number("4102444800.5")), ""},
		{"iat missing", drop("iat"), "iat is missing"},
		{"nonce missing", drop("nonce"), "nonce"},
		{"nonce other", set("nonce", "nonce-2"), "nonce"},
		{"nonce longer", set("nonce", testNonce+"x"), "nonce"},
		{"nonce list", set("nonce", []string{testNonce}), "nonce"},
		{"logout token", set("events", map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}), "another kind"},
		{"distributed claims", func(c map[string]any) {
			c["_claim_names"], c["_claim_sources"] = map[string]any{"a": "s"}, map[string]any{"s": map[string]any{"endpoint": op.URL + "/claims"}}
		}, ""},
		{"claim names list", set("_claim_names", []string{"a"}), "wrong type"},
		{"claim name number", set("_claim_names", map[string]any{"a": 1}), "wrong type"},
		{"claim source missing", set("_claim_names", map[string]any{"a": "s"}), "wrong type"},
		{"claim source text", set("_claim_sources", map[string]any{"s": "x"}), "wrong type"},
		{"claim source, endpoint number", set("_claim_sources", map[string]any{"s": map[string]any{"endpoint": 1}}), "wrong type"},
		{"at_hash number, no token to compare", set("at_hash", 1), "wrong type"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := op.claims()
			tt.mod(c)
			got, err := client.VerifyIDToken(t.Context(), op.signer.sign(t, c, nil), IDTokenCheck{Nonce: testNonce})
			wantError(t, err, tt.want)
			if err == nil && got["sub"] != c["sub"] {
				t.Errorf("%v", got)
			}
		})
	}
	t.Cleanup(func() {
		if op.count("/claims") != 0 {
			t.Error("a claim source was fetched")
		}
	})
}

func TestIDTokenDuplicates(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	client := op.client(t)
	good, err := json.Marshal(op.claims())
	wantError(t, err, "")
	for _, extra := range []string{`"sub":"other"`, `"aud":"other"`, `"nonce":"` + testNonce + `"`, `"iss":"x"`} {
		raw := op.signer.sign(t, strings.TrimSuffix(string(good), "}")+","+extra+"}", nil)
		_, err := client.VerifyIDToken(t.Context(), raw, IDTokenCheck{Nonce: testNonce})
		wantError(t, err, "duplicate member")
	}
	_, err = client.VerifyIDToken(t.Context(), op.signer.sign(t, string(good), nil), IDTokenCheck{Nonce: testNonce})
	wantError(t, err, "")
	_, err = client.VerifyIDToken(t.Context(), op.signer.sign(t, `"text"`, nil), IDTokenCheck{Nonce: testNonce})
	wantError(t, err, "not a JSON object")
}

// TestIDTokenUnexpectedNonce checks that, without a nonce in the request, a token with
// one belongs to another sign-in.
func TestIDTokenUnexpectedNonce(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	client := op.client(t)
	c := op.claims()
	_, err := client.VerifyIDToken(t.Context(), op.signer.sign(t, c, nil), IDTokenCheck{})
	wantError(t, err, "nonce")
	delete(c, "nonce")
	_, err = client.VerifyIDToken(t.Context(), op.signer.sign(t, c, nil), IDTokenCheck{})
	wantError(t, err, "")
}

func TestIDTokenKinds(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	client := op.client(t)
	good := op.signer.sign(t, op.claims(), nil)
	parts := strings.Split(good, ".")
	header := func(h string) string {
		return base64.RawURLEncoding.EncodeToString([]byte(h)) + "." + parts[1] + "." + parts[2]
	}
	tests := []struct{ name, raw, want string }{
		{"good", good, ""},
		{"typ application/jwt", op.signer.sign(t, op.claims(), map[string]any{"typ": "application/jwt"}), ""},
		{"typ at+jwt", op.signer.sign(t, op.claims(), map[string]any{"typ": "at+jwt"}), "another kind"},
		{"typ application/at+jwt", op.signer.sign(t, op.claims(), map[string]any{"typ": "application/at+jwt"}), "another kind"},
		{"typ logout+jwt", op.signer.sign(t, op.claims(), map[string]any{"typ": "logout+jwt"}), "another kind"},
		{"typ number", op.signer.sign(t, op.claims(), map[string]any{"typ": 1}), "another kind"},
		{"crit", op.signer.sign(t, op.claims(), map[string]any{"crit": []string{"x"}, "x": 1}), "extensions"},
		{"b64", op.signer.sign(t, op.claims(), map[string]any{"b64": true}), "extensions"},
		{"empty", "", "not a signed JWT"},
		{"two parts", parts[0] + "." + parts[1], "not a signed JWT"},
		{"four parts", good + ".x", "not a signed JWT"},
		{"five parts", good + ".x.y", "not a signed JWT"},
		{"JSON form", `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, "not a signed JWT"},
		{"white space", parts[0] + "." + parts[1] + ".\n" + parts[2], "not a signed JWT"},
		{"padding", parts[0] + "." + parts[1] + "." + parts[2] + "=", "not a signed JWT"},
		{"huge", good + strings.Repeat("A", maxIDToken), "too large"},
		{"no signature", parts[0] + "." + parts[1] + ".", "signature"},
		{"other payload", parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"admin"}`)) + "." + parts[2], "signature"},
		{"alg none", header(`{"alg":"none"}`), "algorithm is not allowed"},
		{"alg nOnE", header(`{"alg":"nOnE"}`), "algorithm is not allowed"},
		{"alg none, no signature", base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + parts[1] + ".", "algorithm is not allowed"},
		{"alg missing", header(`{"kid":"key-1"}`), "algorithm is not allowed"},
		{"alg list", header(`{"alg":["ES256"]}`), "algorithm is not allowed"},
		{"alg twice", header(`{"alg":"none","alg":"ES256"}`), "duplicate"},
		{"alg of another key", header(`{"alg":"RS256","kid":"key-1"}`), "signature"},
		{"alg HS256", header(`{"alg":"HS256","kid":"key-1"}`), "algorithm is not allowed"},
		{"header is not an object", header(`[]`), "header"},
		{"kid number", header(`{"alg":"ES256","kid":1}`), "not a signed JWT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := client.VerifyIDToken(t.Context(), tt.raw, IDTokenCheck{Nonce: testNonce})
			wantError(t, err, tt.want)
		})
	}
}

func TestAccessTokenHash(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	ed := &signer{jose.EdDSA, "ed", edKey()}
	op.keys = append(op.keys, ed.public())
	client := op.client(t)
	short, long := sha256.Sum256([]byte("at")), sha512.Sum512([]byte("at"))
	left := func(sum []byte) string { return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2]) }
	tests := []struct {
		name   string
		signer *signer
		hash   any
		token  string
		want   string
	}{
		{"right", op.signer, left(short[:]), "at", ""},
		{"right, EdDSA", ed, left(long[:]), "at", ""},
		{"other token", op.signer, left(short[:]), "bt", "at_hash"},
		{"other hash", op.signer, left(long[:]), "at", "at_hash"},
		{"whole hash", op.signer, base64.RawURLEncoding.EncodeToString(short[:]), "at", "at_hash"},
		{"empty", op.signer, "", "at", "at_hash"},
		{"list", op.signer, []string{left(short[:])}, "at", "at_hash"},
		{"no token to compare", op.signer, "whatever", "", ""},
	}
	for _, tt := range tests {
		c := op.claims()
		c["at_hash"] = tt.hash
		_, err := client.VerifyIDToken(t.Context(), tt.signer.sign(t, c, nil), IDTokenCheck{Nonce: testNonce, AccessToken: tt.token})
		wantError(t, err, tt.want)
	}
}

// TestIDTokenErrorsQuoteNothing checks that errors do not repeat claims, which may be
// about a person. The exception is iss, which says nothing about a person, and which the
// operator compares with the configuration.
func TestIDTokenErrorsQuoteNothing(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	client := op.client(t)
	const leak = "l3ak"
	for _, name := range []string{"iss", "aud", "azp", "nonce", "at_hash", "exp", "iat", "_claim_names"} {
		c := op.claims()
		c[name] = leak
		raw := op.signer.sign(t, c, map[string]any{"typ": "JWT"})
		_, err := client.VerifyIDToken(t.Context(), raw, IDTokenCheck{Nonce: testNonce, AccessToken: "at"})
		if err == nil || strings.Contains(err.Error(), leak) != (name == "iss") || strings.Contains(err.Error(), raw) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestIDTokenWithoutIssuer(t *testing.T) {
	t.Parallel()
	client, err := New(Config{AuthorizationURL: "https://a.example/a", TokenURL: "https://a.example/t", ClientID: testClient})
	wantError(t, err, "")
	_, err = client.VerifyIDToken(t.Context(), "a.b.c", IDTokenCheck{})
	wantError(t, err, "no issuer")
}
