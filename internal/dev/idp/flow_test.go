package idp_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/oauth2"

	"authsvc/internal/dev/idp"
)

const callback = "http://localhost:3000/api/auth/callback/dev"

var (
	confidential = idp.Client{ID: "app", Secret: "s: %+ü/cret", RedirectURIs: []string{callback}}
	publicClient = idp.Client{ID: "native"}

	rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		return key
	})
	ecKey = sync.OnceValue(func() *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			panic(err)
		}
		return key
	})
)

// listen starts a provider with both clients.
func listen(t *testing.T, opts idp.Options) *idp.Server {
	t.Helper()
	if opts.Clients == nil {
		opts.Clients = []idp.Client{confidential, publicClient}
	}
	server, err := idp.Listen(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// relyingParty is an independent client: go-oidc over x/oauth2.
type relyingParty struct {
	provider *oidc.Provider
	config   *oauth2.Config
	verifier string
}

func newRelyingParty(t *testing.T, server *idp.Server, client idp.Client) *relyingParty {
	t.Helper()
	provider, err := oidc.NewProvider(t.Context(), server.Issuer())
	if err != nil {
		t.Fatal(err)
	}
	return &relyingParty{provider: provider, verifier: oauth2.GenerateVerifier(), config: &oauth2.Config{
		ClientID: client.ID, ClientSecret: client.Secret, RedirectURL: callback,
		Endpoint: provider.Endpoint(), Scopes: []string{"openid", "profile", "email"},
	}}
}

func (rp *relyingParty) authURL(extra ...oauth2.AuthCodeOption) string {
	extra = append(extra, oauth2.S256ChallengeOption(rp.verifier), oidc.Nonce("n-1"))
	return rp.config.AuthCodeURL("st-1", extra...)
}

// signIn runs the flow up to the token response.
func (rp *relyingParty) signIn(t *testing.T, server *idp.Server, sub string) (*oauth2.Token, error) {
	t.Helper()
	answer, err := server.Approve(rp.authURL(), sub)
	if err != nil {
		t.Fatal(err)
	}
	return rp.config.Exchange(t.Context(), answer.Params.Get("code"), oauth2.VerifierOption(rp.verifier))
}

func (rp *relyingParty) verify(t *testing.T, token *oauth2.Token) (*oidc.IDToken, error) {
	t.Helper()
	raw, _ := token.Extra("id_token").(string)
	return rp.provider.Verifier(&oidc.Config{ClientID: rp.config.ClientID}).Verify(t.Context(), raw)
}

// browser follows no redirects, so that tests see them.
var browser = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func do(t *testing.T, req *http.Request) (*http.Response, string) {
	t.Helper()
	res, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func get(t *testing.T, target string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, req)
}

func postForm(t *testing.T, target string, form url.Values, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return do(t, req)
}

// location returns the parameters of a redirect to the callback.
func location(t *testing.T, res *http.Response) url.Values {
	t.Helper()
	rest, ok := strings.CutPrefix(res.Header.Get("Location"), callback+"?")
	if res.StatusCode != http.StatusSeeOther || !ok {
		t.Fatalf("got %d to %q, want 303 to the callback", res.StatusCode, res.Header.Get("Location"))
	}
	params, err := url.ParseQuery(rest)
	if err != nil {
		t.Fatal(err)
	}
	return params
}

func TestCodeFlow(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		opts   idp.Options
		client idp.Client
		style  oauth2.AuthStyle
		alg    string
	}{
		"ES256, basic":         {idp.Options{Key: ecKey()}, confidential, oauth2.AuthStyleInHeader, "ES256"},
		"RS256, post":          {idp.Options{Key: rsaKey()}, confidential, oauth2.AuthStyleInParams, "RS256"},
		"public client":        {idp.Options{}, publicClient, oauth2.AuthStyleInParams, "ES256"},
		"issuer with a path":   {idp.Options{Issuer: "/tenant/a"}, confidential, oauth2.AuthStyleInHeader, "ES256"},
		"style found by trial": {idp.Options{}, confidential, oauth2.AuthStyleAutoDetect, "ES256"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := listen(t, tt.opts)
			rp := newRelyingParty(t, server, tt.client)
			rp.config.Endpoint.AuthStyle = tt.style

			token, err := rp.signIn(t, server, "ada")
			if err != nil {
				t.Fatal(err)
			}
			idToken, err := rp.verify(t, token)
			if err != nil {
				t.Fatal(err)
			}
			if idToken.Nonce != "n-1" {
				t.Errorf("nonce = %q", idToken.Nonce)
			}
			if err := idToken.VerifyAccessToken(token.AccessToken); err != nil {
				t.Errorf("at_hash: %v", err)
			}
			var claims struct {
				idp.Person
				AuthTime int64 `json:"auth_time"`
			}
			if err := idToken.Claims(&claims); err != nil {
				t.Fatal(err)
			}
			want := idp.Person{
				Sub: "ada", Name: "Ada Lovelace", Email: "ada@example.com", EmailVerified: true,
				Picture: server.Issuer() + "/avatar/ada.svg",
			}
			if diff := cmp.Diff(want, claims.Person); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			if claims.AuthTime == 0 {
				t.Error("no auth_time")
			}
			info, err := rp.provider.UserInfo(t.Context(), oauth2.StaticTokenSource(token))
			if err != nil {
				t.Fatal(err)
			}
			if info.Subject != "ada" || info.Email != "ada@example.com" || !info.EmailVerified {
				t.Errorf("userinfo = %+v", info)
			}
			if got := server.Calls(idp.EndpointUserInfo); got != 1 {
				t.Errorf("userinfo was called %d times", got)
			}
		})
	}
}

// TestPageFlow: choosing a person, adding one, and cancelling.
func TestPageFlow(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	rp := newRelyingParty(t, server, confidential)
	chooseURL := strings.Replace(rp.authURL(), "/authorize?", "/authorize/choose?", 1)

	tests := map[string]struct {
		form url.Values
		want map[string]string // claims, or error
	}{
		"choose":   {url.Values{"person": {"grace"}}, map[string]string{"name": "Grace Hopper", "email": "grace@example.com"}},
		"no email": {url.Values{"person": {"katherine"}}, map[string]string{"name": "Katherine Johnson"}},
		"add": {
			url.Values{"add": {"1"}, "name": {" Zoë <b> "}, "email": {"zoe@example.com"}, "verified": {"1"}},
			map[string]string{"name": "Zoë <b>", "email": "zoe@example.com"},
		},
		"cancel": {url.Values{"cancel": {"1"}}, map[string]string{"error": "access_denied"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, _ := postForm(t, chooseURL, tt.form, "Sec-Fetch-Site", "same-origin")
			params := location(t, res)
			if params.Get("state") != "st-1" || params.Get("iss") != server.Issuer() {
				t.Errorf("state and iss: %v", params)
			}
			if params.Get("error") != tt.want["error"] {
				t.Fatalf("error = %q", params.Get("error"))
			}
			if tt.want["error"] != "" {
				if params.Has("code") {
					t.Error("an error comes with a code")
				}
				return
			}
			token, err := rp.config.Exchange(t.Context(), params.Get("code"), oauth2.VerifierOption(rp.verifier))
			if err != nil {
				t.Fatal(err)
			}
			idToken, err := rp.verify(t, token)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			if err := idToken.Claims(&got); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"name", "email"} {
				value, _ := got[name].(string)
				if value != tt.want[name] {
					t.Errorf("%s = %q, want %q", name, value, tt.want[name])
				}
			}
			if _, has := got["email_verified"]; has != (tt.want["email"] != "") {
				t.Error("email_verified and email do not go together")
			}
		})
	}
}

func TestPlainOAuth2(t *testing.T) {
	t.Parallel()
	server := listen(t, idp.Options{})
	config := &oauth2.Config{
		ClientID: confidential.ID, ClientSecret: confidential.Secret, RedirectURL: callback,
		Scopes: []string{"openid", "profile", "email"},
		Endpoint: oauth2.Endpoint{
			AuthURL: server.Issuer() + "/oauth2/authorize", TokenURL: server.Issuer() + "/oauth2/token",
		},
	}
	res, _ := get(t, config.AuthCodeURL("st", oauth2.SetAuthURLParam("prompt", "none"), oauth2.SetAuthURLParam("login_hint", "katherine")))
	params := location(t, res)
	if params.Has("iss") {
		t.Error("the plain face sends iss")
	}
	token, err := config.Exchange(t.Context(), params.Get("code"))
	if err != nil {
		t.Fatal(err)
	}
	if token.Extra("id_token") != nil {
		t.Error("the plain face sends an ID token")
	}
	res, err = config.Client(t.Context(), token).Get(server.Issuer() + "/oauth2/user")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var user struct {
		ID        int64   `json:"id"`
		Login     string  `json:"login"`
		Name      string  `json:"name"`
		Email     *string `json:"email"`
		AvatarURL string  `json:"avatar_url"`
	}
	if err := json.NewDecoder(res.Body).Decode(&user); err != nil {
		t.Fatal(err)
	}
	if user.ID <= 0 || user.ID >= 1<<53 || user.Login != "katherine" || user.Name != "Katherine Johnson" || user.Email != nil {
		t.Errorf("user = %+v", user)
	}

	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, server.Issuer()+"/userinfo", nil)
	req.Header.Set("Authorization", "Bearer "+token.AccessToken)
	if res, _ := do(t, req); res.StatusCode != http.StatusForbidden {
		t.Errorf("userinfo without openid: %d, want 403", res.StatusCode)
	}
}
