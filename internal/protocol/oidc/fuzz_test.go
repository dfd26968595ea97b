package oidc

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"authsvc/internal/protocol/outbound"
)

func FuzzTokenResponse(f *testing.F) {
	for _, body := range []string{
		`{"access_token":"at","token_type":"Bearer","expires_in":3600,"scope":"a b","id_token":"a.b.c"}`,
		`{"access_token":"at","token_type":"bearer","expires_in":"3600"}`,
		`{"access_token":"at","token_type":"bearer","expires_in":-1}`,
		`{"error":"invalid_grant","error_description":"x"}`, `{"error":{"code":1}}`,
		`access_token=at&token_type=bearer&expires_in=60`, `error=bad_verification_code`, `{"a":1,"a":2}`, `<html>`, "",
	} {
		for _, contentType := range []string{"application/json", "application/x-www-form-urlencoded", "text/plain"} {
			f.Add(200, contentType, body)
		}
		f.Add(400, "application/json", body)
	}
	now := time.Unix(1_700_000_000, 0)
	f.Fuzz(func(t *testing.T, status int, contentType, body string) {
		fields, err := responseFields(&outbound.Response{Status: status, ContentType: contentType, Body: []byte(body)})
		var tokens *Tokens
		if err == nil {
			tokens, err = readTokens(fields, nil, now)
		}
		if err != nil {
			if len(err.Error()) > 200 || strings.ContainsFunc(err.Error(), notPrintable) {
				t.Errorf("error is not of our making: %q", err)
			}
			return
		}
		if status != 200 || tokens.AccessToken == "" || tokens.TokenType != "Bearer" || strings.ContainsAny(tokens.AccessToken, " \r\n\x00") {
			t.Errorf("%d %+v", status, tokens)
		}
		if tokens.ExpiresAt != 0 && (tokens.ExpiresAt <= now.Unix() || tokens.ExpiresAt > now.Unix()+maxExpiresIn) {
			t.Errorf("ExpiresAt %d", tokens.ExpiresAt)
		}
	})
}

func FuzzDiscovery(f *testing.F) {
	const issuer = "https://idp.example"
	client, err := New(Config{Issuer: issuer, ClientID: testClient, OpenID: true})
	if err != nil {
		f.Fatal(err)
	}
	good := `{"issuer":"` + issuer + `","authorization_endpoint":"https://idp.example/a","token_endpoint":"https://idp.example/t","jwks_uri":"https://idp.example/k"`
	f.Add([]byte(good + `}`))
	f.Add([]byte(good + `,"userinfo_endpoint":"http://127.0.0.1/"}`))
	f.Add([]byte(good + `,"issuer":"https://idp.example"}`))
	f.Add([]byte(good + `,"authorization_response_iss_parameter_supported":true,"token_endpoint_auth_methods_supported":["client_secret_post"]}`))
	f.Add([]byte(strings.Repeat(`{"a":`, 50)))
	f.Fuzz(func(t *testing.T, body []byte) {
		md, err := client.parseMetadata(body)
		if err != nil {
			return
		}
		if md.Issuer != issuer {
			t.Errorf("issuer %q", md.Issuer)
		}
		for _, e := range []string{md.AuthorizationURL, md.TokenURL, md.JWKSURL, md.UserInfoURL} {
			if e != "" && (len(e) < 9 || !strings.EqualFold(e[:8], "https://")) {
				t.Errorf("endpoint %q", e)
			}
		}
		if md.TokenURL == "" || md.AuthorizationURL == "" || md.JWKSURL == "" {
			t.Errorf("%+v", md)
		}
	})
}

func FuzzJWKS(f *testing.F) {
	key, err := json.Marshal(newSigner("k").public())
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(`{"keys":[` + string(key) + `,{"kty":"oct","k":"AAAA"}]}`))
	f.Add([]byte(`{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"},{"kty":"OKP","crv":"Ed25519","x":"AAAA"}]}`))
	f.Add([]byte(`{"keys":[null,1,[],{}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		keys, err := parseKeys(body)
		if err != nil {
			return
		}
		for _, k := range keys {
			if !k.IsPublic() || !strong(k) {
				t.Errorf("%v", k)
			}
		}
		if len(keys) == 0 || len(keys) > maxKeys {
			t.Errorf("%d keys", len(keys))
		}
	})
}
