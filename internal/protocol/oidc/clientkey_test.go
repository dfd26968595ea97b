package oidc

import (
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"

	jose "github.com/go-jose/go-jose/v4"
)

func TestParseClientKey(t *testing.T) {
	t.Parallel()
	ec := ecKey()
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&ec.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	good := jwkText(t, jose.JSONWebKey{Key: ec})
	other := jwkText(t, jose.JSONWebKey{Key: &ecKey().PublicKey})
	var a, b map[string]any
	if json.Unmarshal([]byte(good), &a) != nil || json.Unmarshal([]byte(other), &b) != nil {
		t.Fatal("no JSON")
	}
	a["x"], a["y"] = b["x"], b["y"]
	mismatch, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"PEM":                 {pkcs8(t, ec), ""},
		"JWK":                 {good, ""},
		"nothing":             {"", "is neither PEM text nor a JWK"},
		"words":               {"hunter2", "is neither PEM text nor a JWK"},
		"other PEM":           {pemText(t, "MESSAGE", ec), "is neither PEM text nor a JWK"},
		"half a JWK":          {`{"kty":"EC"`, "is neither PEM text nor a JWK"},
		"set of JWK":          {`{"keys":[` + good + `]}`, "is neither PEM text nor a JWK"},
		"public PEM":          {string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})), "is a public key"},
		"certificate":         {pemText(t, "CERTIFICATE", ec), "is a public key"},
		"public JWK":          {other, "is a public key"},
		"SEC 1":               {pemText(t, "EC PRIVATE KEY", ec), "not PKCS #8"},
		"PKCS #1":             {pemText(t, "RSA PRIVATE KEY", rsaKey()), "not PKCS #8"},
		"broken PKCS #8":      {string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})), "not PKCS #8"},
		"encrypted":           {pemText(t, "ENCRYPTED PRIVATE KEY", ec), "is encrypted"},
		"short RSA":           {pkcs8(t, short), "under 2048 bits"},
		"short RSA JWK":       {jwkText(t, jose.JSONWebKey{Key: short}), "under 2048 bits"},
		"P-521":               {pkcs8(t, ecKeyOn(elliptic.P521())), "not supported"},
		"secret":              {jwkText(t, jose.JSONWebKey{Key: []byte(testSecret)}), "not supported"},
		"alg of another kind": {jwkText(t, jose.JSONWebKey{Key: ec, Algorithm: "RS256"}), "names an algorithm"},
		"alg none":            {jwkText(t, jose.JSONWebKey{Key: rsaKey(), Algorithm: "none"}), "names an algorithm"},
		"halves of two":       {string(mismatch), "do not belong together"},
	} {
		_, err := ParseClientKey(c.text, "")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if wrong, _ := err.(*KeyError); err != nil && (wrong == nil || wrong.Fix == "" || len(c.text) > 6 && strings.Contains(wrong.Problem+wrong.Fix, c.text)) {
			t.Errorf("%s: %#v", name, err)
		}
	}
}
