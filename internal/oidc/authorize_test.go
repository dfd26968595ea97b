package oidc

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const testChallenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" // RFC 7636, appendix B

func TestAuthorizationURL(t *testing.T) {
	t.Parallel()
	client, err := New(Config{
		AuthorizationURL: "https://idp.example/a?tenant=1&client_id=evil&request_uri=x",
		TokenURL:         "https://idp.example/t", ClientID: testClient,
	})
	wantError(t, err, "")
	raw, err := client.AuthorizationURL(t.Context(), AuthRequest{
		RedirectURI: "https://app.example/cb", Scope: "openid e+mail profile", State: "st&te", Nonce: "n",
		CodeChallenge: testChallenge, ResponseMode: "form_post", Params: url.Values{"prompt": {"consent"}},
	})
	wantError(t, err, "")
	if strings.Contains(raw, "+") || !strings.HasPrefix(raw, "https://idp.example/a?") {
		t.Error(raw)
	}
	want := url.Values{
		"tenant": {"1"}, "client_id": {testClient}, "response_type": {"code"}, "redirect_uri": {"https://app.example/cb"},
		"scope": {"openid e+mail profile"}, "state": {"st&te"}, "nonce": {"n"}, "code_challenge": {testChallenge},
		"code_challenge_method": {"S256"}, "response_mode": {"form_post"}, "prompt": {"consent"},
	}
	if diff := cmp.Diff(want, mustURL(t, raw).Query()); diff != "" {
		t.Error(diff)
	}
}

func TestAuthorizationURLRefuses(t *testing.T) {
	t.Parallel()
	client, err := New(Config{AuthorizationURL: "https://idp.example/a", TokenURL: "https://idp.example/t", ClientID: testClient})
	wantError(t, err, "")
	good := AuthRequest{RedirectURI: "https://app.example/cb"}
	_, err = client.AuthorizationURL(t.Context(), good)
	wantError(t, err, "")
	for _, name := range reservedParams {
		r := good
		r.Params = url.Values{name: {"x"}}
		_, err := client.AuthorizationURL(t.Context(), r)
		wantError(t, err, "reserved")
	}
	for want, mod := range map[string]func(*AuthRequest){
		"redirect uri":  func(r *AuthRequest) { r.RedirectURI = "" },
		"of method S25": func(r *AuthRequest) { r.CodeChallenge = "plain-verifier" },
		"method S256":   func(r *AuthRequest) { r.CodeChallenge = testChallenge + "=" },
		"too long":      func(r *AuthRequest) { r.Params = url.Values{"login_hint": {strings.Repeat("x", 64<<10)}} },
	} {
		r := good
		mod(&r)
		_, err := client.AuthorizationURL(t.Context(), r)
		wantError(t, err, want)
	}
}

func TestCheckIssuer(t *testing.T) {
	t.Parallel()
	const issuer = "https://idp.example"
	tests := []struct {
		name      string
		config    Config
		announced bool
		iss       []string
		want      string
	}{
		{"announced, right", Config{Issuer: issuer}, true, []string{issuer}, ""},
		{"announced, missing", Config{Issuer: issuer}, true, nil, "missing"},
		{"announced, slash", Config{Issuer: issuer}, true, []string{issuer + "/"}, "another provider"},
		{"announced, case", Config{Issuer: issuer}, true, []string{"https://IDP.example"}, "another provider"},
		{"announced, empty", Config{Issuer: issuer}, true, []string{""}, "another provider"},
		{"announced, twice", Config{Issuer: issuer}, true, []string{issuer, issuer}, "more than one"},
		{"not announced, missing", Config{Issuer: issuer}, false, nil, ""},
		{"not announced, right", Config{Issuer: issuer}, false, []string{issuer}, ""},
		{"not announced, wrong", Config{Issuer: issuer}, false, []string{"https://evil.example"}, "another provider"},
		{"no issuer, any", Config{}, false, []string{"https://github.example/login/oauth"}, ""},
		{"no issuer, none", Config{}, false, nil, ""},
		{"no issuer, twice", Config{}, false, []string{"a", "a"}, "more than one"},
		{"tenant, right", Config{Issuer: issuer + "/{tenantid}/v2", DiscoveryURL: issuer + "/common"}, false, []string{issuer + "/t-1/v2"}, ""},
		{"tenant, wrong", Config{Issuer: issuer + "/{tenantid}/v2", DiscoveryURL: issuer + "/common"}, false, []string{issuer + "/t-1/x/v2"}, "another provider"},
		{"tenant, not allowed", Config{Issuer: issuer + "/{tenantid}/v2", DiscoveryURL: issuer + "/common", Tenants: []string{"t-2"}}, false, []string{issuer + "/t-1/v2"}, "another provider"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.config
			c.ClientID = testClient
			if c.Issuer == "" {
				c.AuthorizationURL, c.TokenURL = "https://github.example/a", "https://github.example/t"
			}
			c.HTTP = &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
				return response(200, map[string]any{
					"issuer": c.Issuer, "authorization_endpoint": issuer + "/a", "token_endpoint": issuer + "/t",
					"authorization_response_iss_parameter_supported": tt.announced,
				}), nil
			})}
			client, err := New(c)
			wantError(t, err, "")
			wantError(t, client.CheckIssuer(t.Context(), tt.iss), tt.want)
		})
	}
}
