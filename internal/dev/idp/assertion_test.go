package idp_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc/internal/dev/idp"
)

// signAssertion returns a compact JWT.
func signAssertion(t *testing.T, alg jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	jws, err := signer.Sign(raw)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestClientAssertion: each refused request differs from the accepted one in one
// detail.
func TestClientAssertion(t *testing.T) {
	t.Parallel()
	key, other := ecKey(), rsaKey()
	server := listen(t, idp.Options{Clients: []idp.Client{confidential, publicClient, {ID: "keyed", Key: &key.PublicKey}, {ID: "keyed2", Key: &other.PublicKey}}})
	code := func() url.Values {
		rp := newRelyingParty(t, server, idp.Client{ID: "keyed"})
		answer, err := server.Approve(rp.authURL(), "ada")
		if err != nil {
			t.Fatal(err)
		}
		return url.Values{"grant_type": {"authorization_code"}, "code": {answer.Params.Get("code")}, "redirect_uri": {callback}, "code_verifier": {rp.verifier},
			"client_id": {"keyed"}, "client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}}
	}
	for name, c := range map[string]struct {
		edit   func(claims map[string]any, form url.Values)
		signer func(claims map[string]any) string
		ok     bool
	}{
		"accepted":            {edit: func(map[string]any, url.Values) {}, ok: true},
		"five minutes":        {edit: func(c map[string]any, _ url.Values) { c["exp"] = c["iat"].(int64) + 300 }, ok: true},
		"iss":                 {edit: func(c map[string]any, _ url.Values) { c["iss"] = "app" }},
		"sub":                 {edit: func(c map[string]any, _ url.Values) { c["sub"] = "app" }},
		"aud, token endpoint": {edit: func(c map[string]any, _ url.Values) { c["aud"] = server.Issuer() + "/token" }},
		"aud, list":           {edit: func(c map[string]any, _ url.Values) { c["aud"] = []string{server.Issuer()} }},
		"aud, two":            {edit: func(c map[string]any, _ url.Values) { c["aud"] = []string{server.Issuer(), "https://b.example"} }},
		"no aud":              {edit: func(c map[string]any, _ url.Values) { delete(c, "aud") }},
		"expired":             {edit: func(c map[string]any, _ url.Values) { c["iat"], c["exp"] = c["iat"].(int64)-60, c["iat"] }},
		"long":                {edit: func(c map[string]any, _ url.Values) { c["exp"] = c["iat"].(int64) + 301 }},
		"from the future":     {edit: func(c map[string]any, _ url.Values) { c["iat"], c["exp"] = c["iat"].(int64)+60, c["exp"].(int64)+60 }},
		"no exp":              {edit: func(c map[string]any, _ url.Values) { delete(c, "exp") }},
		"no iat":              {edit: func(c map[string]any, _ url.Values) { delete(c, "iat") }},
		"no jti":              {edit: func(c map[string]any, _ url.Values) { delete(c, "jti") }},
		"another client":      {edit: func(_ map[string]any, f url.Values) { f.Set("client_id", "keyed2") }},
		"unknown client":      {edit: func(_ map[string]any, f url.Values) { f.Set("client_id", "nobody") }},
		"client without key":  {edit: func(_ map[string]any, f url.Values) { f.Set("client_id", "app") }},
		"no type":             {edit: func(_ map[string]any, f url.Values) { f.Del("client_assertion_type") }},
		"other type":          {edit: func(_ map[string]any, f url.Values) { f.Set("client_assertion_type", "saml2-bearer") }},
		"with a secret":       {edit: func(_ map[string]any, f url.Values) { f.Set("client_secret", "") }},
		"another key":         {signer: func(c map[string]any) string { return signAssertion(t, jose.RS256, other, c) }},
		"HMAC": {signer: func(c map[string]any) string {
			return signAssertion(t, jose.HS256, []byte(strings.Repeat("x", 32)), c)
		}},
		"nothing signed": {signer: func(map[string]any) string { return "" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now().Unix()
			claims := map[string]any{"iss": "keyed", "sub": "keyed", "aud": server.Issuer(), "jti": name, "iat": now, "exp": now + 60}
			form := code()
			if c.edit != nil {
				c.edit(claims, form)
			}
			form.Set("client_assertion", signAssertion(t, jose.ES256, key, claims))
			if c.signer != nil {
				form.Set("client_assertion", c.signer(claims))
			}
			if res, body := postForm(t, server.Issuer()+"/token", form); (res.StatusCode == 200) != c.ok {
				t.Errorf("%d %s", res.StatusCode, body)
			}
			if !c.ok {
				return
			}
			again := code()
			again.Set("client_assertion", form.Get("client_assertion"))
			if res, body := postForm(t, server.Issuer()+"/token", again); res.StatusCode != 401 {
				t.Errorf("used again: %d %s", res.StatusCode, body)
			}
		})
	}
	form := code()
	form.Del("client_assertion_type")
	if res, body := postForm(t, server.Issuer()+"/token", form); res.StatusCode != 401 {
		t.Errorf("a client with a key gets in without: %d %s", res.StatusCode, body)
	}
	if _, err := idp.New(idp.Options{Issuer: "http://localhost", Clients: []idp.Client{{ID: "x", Secret: "s", Key: &key.PublicKey}}}); err == nil {
		t.Error("a client with a secret and a key is taken")
	}
}
