package oidc

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"authsvc/internal/protocol/outbound"
)

const (
	testRedirect = "https://app.example/callback/op"
	testVerifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)

func plain(c *Config) { c.OpenID = false }

func TestExchange(t *testing.T) {
	t.Parallel()
	const odd = `%:+ ü`
	tests := []struct {
		name     string
		mod      func(*Config)
		announce []string
		user     string // of the Authorization header, decoded
		form     url.Values
	}{
		{"basic", plain, nil, "client-1", url.Values{}},
		{"basic, odd characters", func(c *Config) { plain(c); c.ClientID, c.ClientSecret = odd, odd }, nil, "%25%3A%2B+%C3%BC", url.Values{}},
		{"post", func(c *Config) { plain(c); c.AuthMethod = ClientSecretPost }, nil, "", url.Values{"client_id": {testClient}, "client_secret": {testSecret}}},
		{"none", func(c *Config) { plain(c); c.ClientSecret = "" }, nil, "", url.Values{"client_id": {testClient}}},
		{"post announced", plain, []string{"client_secret_post"}, "", url.Values{"client_id": {testClient}, "client_secret": {testSecret}}},
		{"both announced", plain, []string{"client_secret_post", "client_secret_basic"}, "client-1", url.Values{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			op := newProvider(t)
			op.on("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
				doc := op.document()
				doc["token_endpoint_auth_methods_supported"] = tt.announce
				writeJSON(w, doc)
			})
			op.on("/token", reply(200, "application/json", `{"access_token":"at","token_type":"BEARER","refresh_token":"rt","scope":"a b","expires_in":3600,"session_state":"ss","extra":1}`))
			client := op.client(t, tt.mod, func(c *Config) { c.TokenHeaders = map[string]string{"X-Version": "2"} })
			tokens, err := client.Exchange(t.Context(), Grant{Code: "the code", RedirectURI: testRedirect, Verifier: testVerifier})
			wantError(t, err, "")
			if d := tokens.ExpiresAt - time.Now().Unix() - 3600; d < -5 || d > 0 {
				t.Errorf("ExpiresAt is off by %d s", d)
			}
			if tokens.Answer["extra"] != json.Number("1") {
				t.Errorf("the answer is %v", tokens.Answer)
			}
			tokens.ExpiresAt, tokens.Answer = 0, nil
			want := &Tokens{AccessToken: "at", TokenType: "Bearer", RefreshToken: "rt", Scope: "a b", SessionState: "ss"}
			if diff := cmp.Diff(want, tokens); diff != "" {
				t.Error(diff)
			}
			r := op.request("/token")
			user, _, _ := r.BasicAuth()
			if user != tt.user || r.Method != "POST" || r.URL.RawQuery != "" || r.Header.Get("X-Version") != "2" {
				t.Errorf("user %q, %s %s", user, r.Method, r.URL)
			}
			tt.form.Set("grant_type", "authorization_code")
			tt.form.Set("code", "the code")
			tt.form.Set("redirect_uri", testRedirect)
			tt.form.Set("code_verifier", testVerifier)
			if diff := cmp.Diff(tt.form, r.Form); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestExchangeRedirect(t *testing.T) {
	t.Parallel()
	evil := newProvider(t)
	evil.on("/token", reply(200, "application/json", `{"access_token":"at","token_type":"bearer"}`))
	for _, status := range []int{301, 302, 303, 307, 308} {
		op := newProvider(t)
		op.on("/token", http.RedirectHandler(evil.URL+"/token", status).ServeHTTP)
		clients := []*http.Client{
			outbound.NewHTTPClient(outbound.HTTPOptions{}),
			{}, // follows redirects by itself
		}
		for _, client := range clients {
			_, err := op.client(t, plain, func(c *Config) { c.HTTP = client }).Exchange(t.Context(), Grant{Code: "code", RedirectURI: testRedirect, Verifier: testVerifier})
			wantError(t, err, "redirect refused")
		}
	}
	if n := evil.count("/token"); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestExchangeCode(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	op.on("/token", reply(200, "application/json", `{"access_token":"at","token_type":"bearer"}`))
	client := op.client(t, plain)
	for _, code := range []string{"4/0AY-_~.", strings.Repeat("x", maxCode), "with space"} {
		_, err := client.Exchange(t.Context(), Grant{Code: code, RedirectURI: testRedirect})
		wantError(t, err, "")
	}
	sent := op.count("/token")
	for _, code := range []string{"", strings.Repeat("x", maxCode+1), "a\r\nb", "a\x00", "ü"} {
		_, err := client.Exchange(t.Context(), Grant{Code: code, RedirectURI: testRedirect})
		wantError(t, err, "token request: code")
	}
	if op.count("/token") != sent {
		t.Error("a bad code was sent")
	}
}

func TestExchangeNeedsIDToken(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	for body, want := range map[string]string{
		`{"access_token":"at","token_type":"bearer"}`:                    "id_token is missing",
		`{"access_token":"at","token_type":"bearer","id_token":"a.b.c"}`: "",
	} {
		op.on("/token", reply(200, "application/json", body))
		_, err := op.client(t).Exchange(t.Context(), Grant{Code: "code", RedirectURI: testRedirect})
		wantError(t, err, want)
	}
}

func TestConformToken(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	op.on("/token", reply(200, "application/json", `{"data":{"access_token":"at"}}`))
	_, err := op.client(t, plain).Exchange(t.Context(), Grant{Code: "code", RedirectURI: testRedirect})
	wantError(t, err, "access_token")
	conform := func(fields Claims) (Claims, error) {
		if fields["data"] == nil {
			return nil, errors.New("no data")
		}
		fields["access_token"], _ = fields.String("data.access_token")
		fields["token_type"] = "bearer"
		return fields, nil
	}
	grant := Grant{Code: "code", RedirectURI: testRedirect, Conform: conform}
	tokens, err := op.client(t, plain).Exchange(t.Context(), grant)
	wantError(t, err, "")
	if tokens.AccessToken != "at" || tokens.Answer["data"] == nil {
		t.Errorf("%+v", tokens)
	}
	op.on("/token", reply(200, "application/json", `{"access_token":"at","token_type":"bearer"}`))
	_, err = op.client(t, plain).Exchange(t.Context(), grant)
	wantError(t, err, "no data")
}

func TestExchangeSlow(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	op.on("/token", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	client := op.client(t, plain, func(c *Config) {
		c.HTTP = outbound.NewHTTPClient(outbound.HTTPOptions{Timeout: 100 * time.Millisecond})
	})
	_, err := client.Exchange(t.Context(), Grant{Code: "code", RedirectURI: testRedirect})
	wantError(t, err, "timed out")
	if !errors.Is(err, outbound.ErrUnavailable) || strings.Contains(fmt.Sprint(err), "code") {
		t.Error(err)
	}
}
