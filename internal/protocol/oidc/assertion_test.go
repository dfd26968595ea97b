package oidc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

func ecKeyOn(curve elliptic.Curve) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		panic(err)
	}
	return key
}

// pemText encodes any key as PEM of a given type.
func pemText(t *testing.T, kind string, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func pkcs8(t *testing.T, key any) string { return pemText(t, "PRIVATE KEY", key) }

func jwkText(t *testing.T, key jose.JSONWebKey) string {
	t.Helper()
	raw, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func keyed(text string) func(*Config) {
	return func(c *Config) { c.ClientSecret, c.AuthMethod, c.PrivateKey = "", PrivateKeyJWT, text }
}

// assertion checks the client assertion of a request and returns header and claims.
func assertion(t *testing.T, form url.Values, key crypto.PublicKey) (jose.Header, map[string]any) {
	t.Helper()
	jws, err := jose.ParseSignedCompact(form.Get("client_assertion"), asymmetricAlgs)
	if err != nil || form.Get("client_assertion_type") != assertionType {
		t.Fatalf("%v, %v", err, form)
	}
	raw, err := jws.Verify(key)
	if err != nil {
		t.Fatal(err)
	}
	var claims map[string]any
	if err := json.Unmarshal(raw, &claims); err != nil {
		t.Fatal(err)
	}
	return jws.Signatures[0].Header, claims
}

// TestAssertion checks that each kind of key signs every request separately, for the
// configured issuer.
func TestAssertion(t *testing.T) {
	t.Parallel()
	ec, rsa2, ed := ecKey(), rsaKey(), edKey()
	p384 := ecKeyOn(elliptic.P384())
	for name, c := range map[string]struct {
		key      string
		id       string
		public   crypto.PublicKey
		announce any
		alg, kid string
	}{
		"P-256":               {key: pkcs8(t, ec), public: &ec.PublicKey, alg: "ES256"},
		"one line":            {key: strings.ReplaceAll(pkcs8(t, ec), "\n", `\n`), public: &ec.PublicKey, alg: "ES256"},
		"P-384, kid":          {key: pkcs8(t, p384), id: "k1", public: &p384.PublicKey, alg: "ES384", kid: "k1"},
		"Ed25519":             {key: pkcs8(t, ed), public: ed.Public(), announce: []string{"RS256", "EdDSA"}, alg: "EdDSA"},
		"RSA":                 {key: pkcs8(t, rsa2), public: &rsa2.PublicKey, alg: "RS256"},
		"RSA, both":           {key: pkcs8(t, rsa2), public: &rsa2.PublicKey, announce: []string{"PS256", "RS256"}, alg: "RS256"},
		"RSA, PSS only":       {key: pkcs8(t, rsa2), public: &rsa2.PublicKey, announce: []string{"ES256", "PS256"}, alg: "PS256"},
		"announces nothing":   {key: pkcs8(t, rsa2), public: &rsa2.PublicKey, announce: []string{}, alg: "RS256"},
		"announces no list":   {key: pkcs8(t, rsa2), public: &rsa2.PublicKey, announce: "PS256", alg: "RS256"},
		"JWK":                 {key: jwkText(t, jose.JSONWebKey{Key: ec, KeyID: "k2"}), public: &ec.PublicKey, alg: "ES256", kid: "k2"},
		"JWK, other kid":      {key: jwkText(t, jose.JSONWebKey{Key: ec, KeyID: "k2"}), id: "k3", public: &ec.PublicKey, alg: "ES256", kid: "k3"},
		"JWK that says PS256": {key: "\n" + jwkText(t, jose.JSONWebKey{Key: rsa2, Algorithm: "PS256"}), public: &rsa2.PublicKey, alg: "PS256"},
		"JWK of Ed25519":      {key: jwkText(t, jose.JSONWebKey{Key: ed}), public: ed.Public(), alg: "EdDSA"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newProvider(t)
			o.on("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
				doc := o.document()
				doc["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
				doc["revocation_endpoint"] = o.URL + "/revoke"
				if c.announce != nil {
					doc["token_endpoint_auth_signing_alg_values_supported"] = c.announce
				}
				writeJSON(w, doc)
			})
			o.on("/token", reply(200, "application/json", `{"access_token":"at","token_type":"bearer"}`))
			o.on("/revoke", reply(200, "", ""))
			client := o.client(t, plain, keyed(c.key), func(config *Config) { config.KeyID = c.id })
			seen := map[any]bool{}
			for path, ask := range map[string]func() error{
				"/token": func() error {
					_, err := client.Exchange(t.Context(), Grant{Code: "code", RedirectURI: testRedirect})
					return err
				},
				"/token?": func() error { _, err := client.Refresh(t.Context(), Refresh{RefreshToken: "rt"}); return err },
				"/revoke": func() error { return client.Revoke(t.Context(), "rt", "refresh_token", "") },
			} {
				for range 2 {
					wantError(t, ask(), "")
					r := o.request(strings.TrimSuffix(path, "?"))
					if r.Form.Get("client_id") != testClient || r.Form.Has("client_secret") || r.Header.Get("Authorization") != "" {
						t.Errorf("%s: sent %v", path, r.Form)
					}
					header, claims := assertion(t, r.Form, c.public)
					if header.Algorithm != c.alg || header.KeyID != c.kid || header.ExtraHeaders["typ"] != "JWT" {
						t.Errorf("header %+v", header)
					}
					now, iat, exp := float64(time.Now().Unix()), claims["iat"].(float64), claims["exp"].(float64)
					if claims["iss"] != testClient || claims["sub"] != testClient || claims["aud"] != o.URL || iat > now || iat < now-10 || exp != iat+60 {
						t.Errorf("claims %v", claims)
					}
					if jti, _ := claims["jti"].(string); len(jti) < 22 || seen[jti] {
						t.Errorf("jti %q", claims["jti"])
					}
					seen[claims["jti"]] = true
				}
			}
		})
	}
}

// TestAssertionAudience checks that the audience depends on the configuration, whatever
// the endpoints are.
func TestAssertionAudience(t *testing.T) {
	t.Parallel()
	key := ecKey()
	const issuer = "https://idp.example"
	for name, c := range map[string]struct {
		mod  func(*Config)
		want string // audience
		err  string // of New
	}{
		"issuer":               {func(*Config) {}, issuer, ""},
		"given":                {func(c *Config) { c.AssertionAudience = "https://as.example" }, "https://as.example", ""},
		"plain":                {func(c *Config) { c.Issuer, c.OpenID = "", false }, "", "assertion audience: required"},
		"plain, given":         {func(c *Config) { c.Issuer, c.OpenID, c.AssertionAudience = "", false, "urn:as" }, "urn:as", ""},
		"many tenants":         {func(c *Config) { c.Issuer = issuer + "/{tenantid}" }, "", "assertion audience: required"},
		"one of them":          {func(c *Config) { c.Issuer, c.AssertionAudience = issuer+"/{tenantid}", issuer+"/t1" }, issuer + "/t1", ""},
		"secret as well":       {func(c *Config) { c.ClientSecret = testSecret }, "", "client secret: must not be set"},
		"secret that is made":  {func(c *Config) { c.SecretPerGrant = true }, "", "auth method: "},
		"key of another":       {func(c *Config) { c.ClientSecret, c.AuthMethod = testSecret, ClientSecretPost }, "", "private key: needs the method"},
		"no key":               {func(c *Config) { c.PrivateKey = "" }, "", "private key: is neither PEM"},
		"parameter of its own": {func(c *Config) { c.TokenParams = map[string]string{"client_assertion": "x"} }, "", "token params"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := Config{Issuer: issuer, OpenID: true, ClientID: testClient, AuthorizationURL: issuer + "/a", TokenURL: issuer + "/t", JWKSURL: issuer + "/k"}
			keyed(pkcs8(t, key))(&config)
			c.mod(&config)
			client, err := New(config)
			wantError(t, err, c.err)
			if c.err != "" {
				return
			}
			raw, err := client.assertion(client.static, time.Now())
			wantError(t, err, "")
			if _, claims := assertion(t, url.Values{"client_assertion": {raw}, "client_assertion_type": {assertionType}}, &key.PublicKey); claims["aud"] != c.want {
				t.Errorf("aud %v", claims["aud"])
			}
		})
	}
}

// TestAssertionAlgRefused checks that a provider that accepts no signature of the key
// is reported before anyone is sent there.
func TestAssertionAlgRefused(t *testing.T) {
	t.Parallel()
	for announced, want := range map[string]string{"ES256": "", "PS256": "does not name an algorithm of the private key, ES256"} {
		o := newProvider(t)
		o.on("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
			doc := o.document()
			doc["token_endpoint_auth_signing_alg_values_supported"] = []string{announced}
			writeJSON(w, doc)
		})
		_, err := o.client(t, keyed(pkcs8(t, ecKey()))).Metadata(t.Context())
		wantError(t, err, want)
		_, err = o.client(t).Metadata(t.Context()) // a client with a secret is not affected
		wantError(t, err, "")
	}
}

// TestAssertionNotRepeated checks that no error quotes the assertion or a part of it
// that the provider returns as an error code. Codes of the standards are quoted.
func TestAssertionNotRepeated(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code func(sent string) string
		want string
	}{
		"a piece":  {func(sent string) string { return sent[len(sent)-64:] }, "unrecognised"},
		"a header": {func(sent string) string { return sent[:20] }, "unrecognised"},
		"a word":   {func(string) string { return "unauthorized_client" }, "unauthorized_client"},
	} {
		o := newProvider(t)
		o.on("/token", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(400)
			writeJSON(w, map[string]string{"error": c.code(r.Form.Get("client_assertion"))})
		})
		client := o.client(t, plain, keyed(pkcs8(t, ecKey())))
		_, err := client.Exchange(t.Context(), Grant{Code: "code", RedirectURI: testRedirect})
		if wantError(t, err, c.want); strings.Contains(err.Error(), "eyJ") {
			t.Errorf("%s: %v", name, err)
		}
		_, err = client.Refresh(t.Context(), Refresh{RefreshToken: "rt"})
		wantError(t, err, c.want)
	}
}
