package oidc

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"github.com/google/go-cmp/cmp"
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
			p := op.party(t, tt.mod, func(c *Config) { c.TokenHeaders = map[string]string{"X-Version": "2"} })
			tokens, err := p.Exchange(t.Context(), "the code", testRedirect, testVerifier)
			wantError(t, err, "")
			if d := tokens.ExpiresAt - time.Now().Unix() - 3600; d < -5 || d > 0 {
				t.Errorf("ExpiresAt is off by %d s", d)
			}
			tokens.ExpiresAt = 0
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

// x/oauth2 must send the same request and read the same ordinary answer.
func TestExchangeAgreesWithXOAuth2(t *testing.T) {
	t.Parallel()
	for method, style := range map[string]oauth2.AuthStyle{ClientSecretBasic: oauth2.AuthStyleInHeader, ClientSecretPost: oauth2.AuthStyleInParams} {
		op := newProvider(t)
		op.on("/token", reply(200, "application/json", `{"access_token":"at","token_type":"bearer","refresh_token":"rt","expires_in":60}`))
		secret := "a:b c+d%ü"
		p := op.party(t, plain, func(c *Config) { c.AuthMethod, c.ClientSecret = method, secret })
		ours, err := p.Exchange(t.Context(), "code", testRedirect, testVerifier)
		wantError(t, err, "")
		request := op.request("/token")
		reference := oauth2.Config{
			ClientID: testClient, ClientSecret: secret, RedirectURL: testRedirect,
			Endpoint: oauth2.Endpoint{TokenURL: op.URL + "/token", AuthStyle: style},
		}
		theirs, err := reference.Exchange(t.Context(), "code", oauth2.VerifierOption(testVerifier))
		wantError(t, err, "")
		other := op.request("/token")
		for _, name := range []string{"Authorization", "Content-Type"} {
			if diff := cmp.Diff(other.Header[name], request.Header[name]); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
		if diff := cmp.Diff(other.Form, request.Form); diff != "" {
			t.Error(diff)
		}
		if theirs.AccessToken != ours.AccessToken || theirs.RefreshToken != ours.RefreshToken || theirs.Type() != ours.TokenType || theirs.Expiry.Unix()-ours.ExpiresAt > 5 {
			t.Errorf("%+v, %+v", theirs, ours)
		}
	}
}

func TestTokenAnswers(t *testing.T) {
	t.Parallel()
	const form, json = "application/x-www-form-urlencoded", "application/json"
	body := func(expires string) string {
		return `{"access_token":"at","token_type":"Bearer","expires_in":` + expires + `}`
	}
	tests := []struct {
		name, contentType, body string
		want                    string // error
		expiresIn               int64
	}{
		{"minimal", json, `{"access_token":"at","token_type":"bearer"}`, "", 0},
		{"no content type", "", `{"access_token":"at","token_type":"bearer"}`, "", 0},
		{"JSON as text", "text/plain; charset=utf-8", ` {"access_token":"at","token_type":"bearer"}`, "", 0},
		{"form", form, `access_token=at&token_type=bearer&expires_in=60&scope=`, "", 60},
		{"form as text", "text/plain", `access_token=at&token_type=bearer`, "", 0},
		{"form as JSON", json, `access_token=at&token_type=bearer`, "not valid JSON", 0},
		{"form, twice", form, `access_token=at&access_token=bt&token_type=bearer`, "duplicate", 0},
		{"form, broken", form, `access_token=%zz&token_type=bearer`, "not a valid form", 0},
		{"form, not UTF-8", form, `access_token=at&token_type=bearer&scope=%ff`, "not a valid form", 0},
		{"nulls", json, `{"access_token":"at","token_type":"bearer","refresh_token":null,"expires_in":null,"error":null,"scope":null}`, "", 0},
		{"scope list", json, `{"access_token":"at","token_type":"bearer","scope":["a","b"]}`, "", 0},
		{"scope of numbers", json, `{"access_token":"at","token_type":"bearer","scope":[1]}`, "scope", 0},
		{"scope object", json, `{"access_token":"at","token_type":"bearer","scope":{}}`, "scope", 0},
		{"expires text", json, body(`"3600"`), "", 3600},
		{"expires whole", json, body(`3600.0`), "", 3600},
		{"expires 0", json, body(`0`), "", 0},
		{"expires negative", json, body(`-1`), "expires_in", 0},
		{"expires negative text", json, body(`"-1"`), "expires_in", 0},
		{"expires absurd", json, body(`1e99`), "expires_in", 0},
		{"expires huge", json, body(`99999999999999999999`), "expires_in", 0},
		{"expires past the limit", json, body(`4294967297`), "expires_in", 0},
		{"expires at the limit", json, body(`4294967296`), "", 4294967296},
		{"expires fraction", json, body(`1.5`), "expires_in", 0},
		{"expires words", json, body(`"soon"`), "expires_in", 0},
		{"expires bool", json, body(`true`), "expires_in", 0},
		{"no access token", json, `{"token_type":"bearer"}`, "access_token", 0},
		{"empty access token", json, `{"access_token":"","token_type":"bearer"}`, "access_token", 0},
		{"access token number", json, `{"access_token":1,"token_type":"bearer"}`, "access_token", 0},
		{"access token splits a header", json, `{"access_token":"a\r\nX: y","token_type":"bearer"}`, "access_token", 0},
		{"member in other case", json, `{"ACCESS_TOKEN":"at","token_type":"bearer"}`, "access_token", 0},
		{"no token type", json, `{"access_token":"at"}`, "token_type", 0},
		{"token type mac", json, `{"access_token":"at","token_type":"mac"}`, "token_type", 0},
		{"token type DPoP", json, `{"access_token":"at","token_type":"DPoP"}`, "token_type", 0},
		{"token type list", json, `{"access_token":"at","token_type":["bearer"]}`, "token_type", 0},
		{"refresh token object", json, `{"access_token":"at","token_type":"bearer","refresh_token":{}}`, "refresh_token", 0},
		{"duplicate", json, `{"access_token":"at","access_token":"bt","token_type":"bearer"}`, "duplicate", 0},
		{"error with 200", json, `{"error":"bad_verification_code","error_description":"x"}`, "refused with bad_verification_code, status 200", 0},
		{"error with 200 and a token", json, `{"access_token":"at","token_type":"bearer","error":"x"}`, "refused with x", 0},
		{"error with 200, form", form, `error=bad_verification_code`, "refused with bad_verification_code", 0},
		{"html", "text/html", `<!doctype html><p>hello`, "not valid JSON", 0},
		{"truncated", json, `{"access_token":"at","token_type":"bea`, "not valid JSON", 0},
		{"empty", json, ``, "not valid JSON", 0},
		{"list", json, `[]`, "not a JSON object", 0},
		{"huge", json, `{"x":"` + strings.Repeat("x", 10<<20) + `"}`, "too large", 0},
		{"huge form", form, `access_token=at&token_type=bearer&x=` + strings.Repeat("x", 2<<20), "too large", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			op := newProvider(t)
			op.on("/token", reply(200, tt.contentType, tt.body))
			tokens, err := op.party(t, plain).Exchange(t.Context(), "SplxlOBeZQ", testRedirect, "")
			wantError(t, err, tt.want)
			if n := op.count("/token"); n != 1 {
				t.Errorf("%d requests", n)
			}
			if err != nil {
				return
			}
			if tt.expiresIn == 0 != (tokens.ExpiresAt == 0) || tt.expiresIn > 0 && time.Now().Unix()+tt.expiresIn-tokens.ExpiresAt > 5 {
				t.Errorf("ExpiresAt %d", tokens.ExpiresAt)
			}
		})
	}
}

func TestTokenErrors(t *testing.T) {
	t.Parallel()
	const code, secret = "c0de-value", testSecret
	tests := []struct {
		name   string
		status int
		body   string
		want   TokenError
	}{
		{"plain", 400, `{"error":"invalid_grant"}`, TokenError{"invalid_grant", 400}},
		{"description", 401, `{"error":"invalid_client","error_description":"<script> ` + secret + code + `"}`, TokenError{"invalid_client", 401}},
		{"markup", 400, `{"error":"<script>alert(1)</script>"}`, TokenError{unrecognised, 400}},
		{"line break", 400, `{"error":"a\nb"}`, TokenError{unrecognised, 400}},
		{"long", 400, `{"error":"` + strings.Repeat("a", 65) + `"}`, TokenError{unrecognised, 400}},
		{"repeats the code", 400, `{"error":"bad_` + code + `"}`, TokenError{unrecognised, 400}},
		{"repeats the verifier", 400, `{"error":"` + testVerifier + `"}`, TokenError{unrecognised, 400}},
		{"object", 400, `{"error":{"message":"x"}}`, TokenError{unrecognised, 400}},
		{"html", 400, `<html>` + secret, TokenError{unrecognised, 400}},
		{"token with 400", 400, `{"access_token":"at","token_type":"bearer"}`, TokenError{unrecognised, 400}},
		{"accepted", 202, `{"access_token":"at","token_type":"bearer"}`, TokenError{unrecognised, 202}},
		{"no content", 204, ``, TokenError{unrecognised, 204}},
		{"down", 503, `down`, TokenError{unrecognised, 503}},
		{"too many", 429, `{"error":"slow_down"}`, TokenError{"slow_down", 429}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			op := newProvider(t)
			op.on("/token", reply(tt.status, "application/json", tt.body))
			_, err := op.party(t, plain).Exchange(t.Context(), code, testRedirect, testVerifier)
			var got *TokenError
			if !errors.As(err, &got) {
				t.Fatalf("%v", err)
			}
			if diff := cmp.Diff(tt.want, *got); diff != "" {
				t.Error(diff)
			}
			for _, secret := range []string{code, secret, testVerifier, "<", "\n"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("error holds %q: %v", secret, err)
				}
			}
			if errors.Is(err, ErrUnavailable) != (tt.status == 503 || tt.status == 429) {
				t.Errorf("ErrUnavailable: %v", err)
			}
			if n := op.count("/token"); n != 1 {
				t.Errorf("%d requests, the exchange must not be retried", n)
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
			NewHTTPClient(HTTPOptions{}),
			{}, // follows redirects by itself
		}
		for _, client := range clients {
			_, err := op.party(t, plain, func(c *Config) { c.HTTP = client }).Exchange(t.Context(), "code", testRedirect, testVerifier)
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
	p := op.party(t, plain)
	for _, code := range []string{"4/0AY-_~.", strings.Repeat("x", maxCode), "with space"} {
		_, err := p.Exchange(t.Context(), code, testRedirect, "")
		wantError(t, err, "")
	}
	sent := op.count("/token")
	for _, code := range []string{"", strings.Repeat("x", maxCode+1), "a\r\nb", "a\x00", "ü"} {
		_, err := p.Exchange(t.Context(), code, testRedirect, "")
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
		_, err := op.party(t).Exchange(t.Context(), "code", testRedirect, "")
		wantError(t, err, want)
	}
}

func TestConformToken(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	op.on("/token", reply(200, "application/json", `{"data":{"access_token":"at"}}`))
	_, err := op.party(t, plain).Exchange(t.Context(), "code", testRedirect, "")
	wantError(t, err, "access_token")
	p := op.party(t, plain, func(c *Config) {
		c.ConformToken = func(fields Claims) {
			fields["access_token"], _ = fields.String("data.access_token")
			fields["token_type"] = "bearer"
		}
	})
	tokens, err := p.Exchange(t.Context(), "code", testRedirect, "")
	wantError(t, err, "")
	if tokens.AccessToken != "at" {
		t.Errorf("%+v", tokens)
	}
}

func TestExchangeSlow(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	op.on("/token", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	p := op.party(t, plain, func(c *Config) { c.HTTP = NewHTTPClient(HTTPOptions{Timeout: 100 * time.Millisecond}) })
	_, err := p.Exchange(t.Context(), "code", testRedirect, "")
	wantError(t, err, "timed out")
	if !errors.Is(err, ErrUnavailable) || strings.Contains(fmt.Sprint(err), "code") {
		t.Error(err)
	}
}
