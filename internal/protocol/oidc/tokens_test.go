package oidc

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"authsvc/internal/protocol/outbound"
)

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
			tokens, err := op.client(t, plain).Exchange(t.Context(), Grant{Code: "SplxlOBeZQ", RedirectURI: testRedirect})
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
			_, err := op.client(t, plain).Exchange(t.Context(), Grant{Code: code, RedirectURI: testRedirect, Verifier: testVerifier})
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
			if errors.Is(err, outbound.ErrUnavailable) != (tt.status == 503 || tt.status == 429) {
				t.Errorf("ErrUnavailable: %v", err)
			}
			if n := op.count("/token"); n != 1 {
				t.Errorf("%d requests, the exchange must not be retried", n)
			}
		})
	}
}
