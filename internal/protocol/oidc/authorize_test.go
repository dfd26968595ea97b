package oidc

import (
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
