package idp_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"authsvc/internal/dev/idp"
)

// TestIDTokenFaults: an independent verifier refuses the tokens of a hostile provider.
func TestIDTokenFaults(t *testing.T) {
	t.Parallel()
	claim := func(name string, value any) idp.Fault {
		return idp.Fault{IDToken: func(c map[string]any) { c[name] = value }}
	}
	tests := map[string]struct {
		fault idp.Fault
		ok    bool
	}{
		"none":            {idp.Fault{}, true},
		"extra claim":     {claim("hd", "example.com"), true},
		"no kid":          {idp.Fault{IDTokenHeader: func(h map[string]any) { delete(h, "kid") }}, true},
		"iss":             {claim("iss", "https://evil.test"), false},
		"aud":             {claim("aud", "other"), false},
		"exp":             {claim("exp", time.Now().Add(-time.Hour).Unix()), false},
		"alg none":        {idp.Fault{Signing: idp.SignNone}, false},
		"alg nOnE":        {idp.Fault{Signing: idp.SignNone, IDTokenHeader: func(h map[string]any) { h["alg"] = "nOnE" }}, false},
		"HMAC public key": {idp.Fault{Signing: idp.SignHMACPublicKey}, false},
		"HMAC secret":     {idp.Fault{Signing: idp.SignHMACSecret}, false},
		"unknown key":     {idp.Fault{Signing: idp.SignUnknownKey}, false},
		"corrupt":         {idp.Fault{Signing: idp.SignCorrupt}, false},
		"unknown kid":     {idp.Fault{IDTokenHeader: func(h map[string]any) { h["kid"] = "x" }}, false},
		"raw":             {idp.Fault{RawIDToken: func(map[string]any) string { return "a.b.c" }}, false},
		"no keys":         {idp.Fault{JWKS: func([]map[string]any) []map[string]any { return nil }}, false},
		"odd key first": {idp.Fault{JWKS: func(keys []map[string]any) []map[string]any {
			return append([]map[string]any{{"kty": "oct", "k": "AA", "kid": "x"}}, keys...)
		}}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := listen(t, idp.Options{Key: ecKey()})
			server.SetFault(tt.fault)
			rp := newRelyingParty(t, server, confidential)
			token, err := rp.signIn(t, server, "ada")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := rp.verify(t, token); (err == nil) != tt.ok {
				t.Errorf("verify: %v, want success %v", err, tt.ok)
			}
			server.SetFault(idp.Fault{})
			if token, err = rp.signIn(t, server, "ada"); err != nil {
				t.Fatal(err)
			}
			if _, err := rp.verify(t, token); err != nil {
				t.Errorf("after mending: %v", err)
			}
		})
	}
}

func TestSigningHeaders(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{Key: rsaKey()})
	rp := newRelyingParty(t, server, confidential)
	for how, want := range map[idp.Signing]string{
		idp.SignProperly: "RS256", idp.SignNone: "none", idp.SignHMACPublicKey: "HS256",
		idp.SignHMACSecret: "HS256", idp.SignCorrupt: "RS256",
	} {
		var alg any
		server.SetFault(idp.Fault{Signing: how, IDTokenHeader: func(h map[string]any) { alg = h["alg"] }})
		token, err := rp.signIn(t, server, "ada")
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := token.Extra("id_token").(string)
		if alg != want || strings.HasSuffix(raw, ".") != (how == idp.SignNone) {
			t.Errorf("%q: alg %v, token %s", how, alg, raw)
		}
	}
	server.SetFault(idp.Fault{Signing: "misspelt"})
	if _, err := rp.signIn(t, server, "ada"); err == nil {
		t.Error("an unknown way of signing issues a token")
	}
}

func TestFaultsElsewhere(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	rp := newRelyingParty(t, server, confidential)
	server.SetFault(idp.Fault{
		Callback:    func(q url.Values) { q.Del("iss"); q.Set("state", "forged") },
		TokenAnswer: func(a map[string]any) { a["token_type"] = "mac" },
		UserInfo:    func(c map[string]any) { c["sub"] = "grace" },
		User:        func(u map[string]any) { u["id"] = nil },
		Discovery:   func(m map[string]any) { m["issuer"] = "https://evil.test" },
	})
	answer, err := server.Approve(rp.authURL(), "ada")
	if err != nil || answer.Params.Has("iss") || answer.Params.Get("state") != "forged" {
		t.Errorf("Callback: %v, %v", answer, err)
	}
	token, err := rp.config.Exchange(t.Context(), answer.Params.Get("code"), oauth2.VerifierOption(rp.verifier))
	if err != nil || token.TokenType != "mac" {
		t.Errorf("TokenAnswer: %v, %v", token, err)
	}
	token.TokenType = "Bearer"
	info, err := rp.provider.UserInfo(t.Context(), oauth2.StaticTokenSource(token))
	if err != nil || info.Subject != "grace" {
		t.Errorf("UserInfo: %v, %v", info, err)
	}
	if _, err := oidc.NewProvider(t.Context(), server.Issuer()); err == nil {
		t.Error("Discovery: go-oidc accepts another issuer")
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.Issuer()+"/oauth2/user", nil)
	req.Header.Set("Authorization", "Bearer "+token.AccessToken)
	if _, body := do(t, req); !strings.Contains(body, `"id":null`) {
		t.Errorf("User: %s", body)
	}
}

func TestEndpointFaults(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	const e = idp.EndpointJWKS
	target := server.Issuer() + "/jwks"

	server.SetFault(idp.Fault{Status: map[idp.Endpoint]int{e: http.StatusServiceUnavailable}})
	if res, body := get(t, target); res.StatusCode != http.StatusServiceUnavailable || body != "" {
		t.Errorf("Status: %d %q", res.StatusCode, body)
	}
	if res, _ := get(t, server.Issuer()+"/.well-known/openid-configuration"); res.StatusCode != http.StatusOK {
		t.Errorf("another endpoint: %d", res.StatusCode)
	}

	type intercept = func(http.ResponseWriter, *http.Request) bool
	server.SetFault(idp.Fault{Intercept: map[idp.Endpoint]intercept{e: func(w http.ResponseWriter, _ *http.Request) bool {
		w.Write([]byte("<html>"))
		return true
	}}})
	if _, body := get(t, target); body != "<html>" {
		t.Errorf("Intercept: %q", body)
	}
	server.SetFault(idp.Fault{Intercept: map[idp.Endpoint]intercept{e: func(http.ResponseWriter, *http.Request) bool { return false }}})
	if _, body := get(t, target); !strings.Contains(body, `"keys"`) {
		t.Errorf("Intercept that lets pass: %q", body)
	}

	server.SetFault(idp.Fault{Delay: map[idp.Endpoint]time.Duration{e: time.Hour}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // cancels after the request has arrived
		defer cancel()
		for end := time.Now().Add(time.Minute); server.Calls(e) < 4 && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
	}()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if _, err := browser.Do(req); !errors.Is(err, context.Canceled) {
		t.Errorf("Delay: %v", err)
	}
	if got := server.Calls(e); got != 4 {
		t.Errorf("Calls = %d, want 4", got)
	}
	if got := server.Calls("no such endpoint"); got != 0 {
		t.Errorf("Calls of nothing = %d", got)
	}
}

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	rp := newRelyingParty(t, server, confidential)
	old, err := rp.signIn(t, server, "ada")
	if err != nil {
		t.Fatal(err)
	}
	kid := func(token *oauth2.Token) string {
		raw, _ := token.Extra("id_token").(string)
		return raw[:strings.IndexByte(raw, '.')]
	}
	if err := server.RotateKey(); err != nil {
		t.Fatal(err)
	}
	fresh, err := rp.signIn(t, server, "ada")
	if err != nil {
		t.Fatal(err)
	}
	if kid(old) == kid(fresh) {
		t.Error("the header is the same after a rotation")
	}
	for name, token := range map[string]*oauth2.Token{"old": old, "fresh": fresh} {
		if _, err := rp.verify(t, token); err != nil {
			t.Errorf("%s key after rotation: %v", name, err)
		}
	}
	if err := server.RevokeOldKeys(); err != nil {
		t.Fatal(err)
	}
	rp = newRelyingParty(t, server, confidential) // without cached keys
	for name, token := range map[string]*oauth2.Token{"old": old, "fresh": fresh} {
		if _, err := rp.verify(t, token); (err == nil) != (name == "fresh") {
			t.Errorf("%s key after revocation: %v", name, err)
		}
	}
	for range 20 {
		if err := server.RotateKey(); err != nil {
			t.Fatal(err)
		}
	}
	if _, body := get(t, server.Issuer()+"/jwks"); strings.Count(body, `"kid"`) != 8 {
		t.Errorf("published after many rotations: %s", body)
	}
}

// TestSign: Sign makes tokens that were not requested, such as a replay.
func TestSign(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	rp := newRelyingParty(t, server, confidential)
	good := map[string]any{
		"iss": server.Issuer(), "aud": "app", "sub": "ada",
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	foreign := maps.Clone(good)
	foreign["aud"] = "other"
	for _, tt := range []struct {
		claims map[string]any
		ok     bool
	}{{good, true}, {foreign, false}} {
		raw, err := server.Sign("JWT", tt.claims)
		if err != nil {
			t.Fatal(err)
		}
		verifier := rp.provider.Verifier(&oidc.Config{ClientID: "app"})
		if _, err := verifier.Verify(t.Context(), raw); (err == nil) != tt.ok {
			t.Errorf("aud %v: %v", tt.claims["aud"], err)
		}
	}
}
