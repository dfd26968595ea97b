package oidc

import (
	"net/http"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc/internal/protocol/outbound"
)

func TestUserInfo(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		status    int
		body, sub string
		want      string
	}{
		{"same sub", 200, `{"sub":"user-1","email":"a@b.example"}`, "user-1", ""},
		{"no sub to compare", 200, `{"id":9007199254740993}`, "", ""},
		{"other sub", 200, `{"sub":"user-2"}`, "user-1", "sub is not"},
		{"sub case", 200, `{"sub":"USER-1"}`, "user-1", "sub is not"},
		{"sub missing", 200, `{"email":"a@b.example"}`, "user-1", "sub is not"},
		{"sub number", 200, `{"sub":1}`, "1", "sub is not"},
		{"sub twice", 200, `{"sub":"user-2","sub":"user-1"}`, "user-1", "duplicate"},
		{"signed", 200, `eyJhbGciOiJub25lIn0.e30.`, "", "not valid JSON"},
		{"html", 200, `<html>`, "", "not valid JSON"},
		{"list", 200, `[]`, "", "not a JSON object"},
		{"down", 500, `{"sub":"user-1"}`, "user-1", "unavailable: status 500"},
		{"unauthorized", 401, `secret words`, "user-1", "userinfo: status 401"},
		{"huge", 200, `{"x":"` + strings.Repeat("x", 10<<20) + `"}`, "", "too large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			op := newProvider(t)
			op.on("/userinfo", reply(tt.status, "application/json", tt.body))
			client := op.client(t, func(c *Config) { c.UserInfoHeaders = map[string]string{"X-Version": "2"} })
			_, err := client.UserInfo(t.Context(), &Tokens{AccessToken: "the-token"}, tt.sub)
			wantError(t, err, tt.want)
			r := op.request("/userinfo")
			if r.Header.Get("Authorization") != "Bearer the-token" || strings.Contains(r.URL.String(), "token") || len(r.Form) != 0 || r.Header.Get("X-Version") != "2" {
				t.Errorf("%s %v", r.URL, r.Header)
			}
			want := 1
			if tt.status == 500 {
				want = outbound.MaxTries
			}
			if n := op.count("/userinfo"); n != want {
				t.Errorf("%d requests", n)
			}
		})
	}
}

func TestUserInfoMissing(t *testing.T) {
	t.Parallel()
	client, err := New(Config{AuthorizationURL: "https://a.example/a", TokenURL: "https://a.example/t", ClientID: testClient})
	wantError(t, err, "")
	_, err = client.UserInfo(t.Context(), &Tokens{AccessToken: "at"}, "")
	wantError(t, err, "no such endpoint")
}

func TestUserInfoRedirect(t *testing.T) {
	t.Parallel()
	evil, op := newProvider(t), newProvider(t)
	op.on("/userinfo", http.RedirectHandler(evil.URL+"/userinfo", http.StatusFound).ServeHTTP)
	_, err := op.client(t).UserInfo(t.Context(), &Tokens{AccessToken: "at"}, "")
	wantError(t, err, "redirect refused")
	if evil.count("/userinfo") != 0 {
		t.Error("followed")
	}
}

func TestSignedUserInfo(t *testing.T) {
	t.Parallel()
	now := time.Now().Unix()
	for name, tt := range map[string]struct {
		changes map[string]any
		header  map[string]any
		signer  func(*provider) *signer
		want    string
	}{
		"as it should be":   {},
		"bare":              {changes: map[string]any{"iss": nil, "aud": nil, "iat": nil, "exp": nil}},
		"list of audiences": {changes: map[string]any{"aud": []string{"x", testClient}}},
		"another issuer":    {changes: map[string]any{"iss": "https://evil.example"}, want: "iss"},
		"null issuer":       {changes: map[string]any{"iss": []any{}}, want: "iss"},
		"another audience":  {changes: map[string]any{"aud": "x"}, want: "aud"},
		"no audience":       {changes: map[string]any{"aud": []any{}}, want: "aud"},
		"another person":    {changes: map[string]any{"sub": "user-2"}, want: "sub"},
		"expired":           {changes: map[string]any{"exp": now - 100}, want: "expired"},
		"to come":           {changes: map[string]any{"nbf": now + 100}, want: "not valid yet"},
		"logout token":      {changes: map[string]any{"events": map[string]any{}}, want: "another kind"},
		"access token":      {header: map[string]any{"typ": "at+jwt"}, want: "another kind"},
		"unknown key":       {signer: func(*provider) *signer { return newSigner("key-1") }, want: "signature"},
		"HMAC":              {signer: func(*provider) *signer { return &signer{jose.HS256, "", []byte(testSecret)} }, want: "not allowed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := newProvider(t)
			s := op.signer
			if tt.signer != nil {
				s = tt.signer(op)
			}
			claims := with(op.claims(), tt.changes)
			delete(claims, "nonce")
			claims["email"] = "a@b.example"
			op.on("/userinfo", reply(200, "application/jwt; charset=utf-8", s.sign(t, claims, tt.header)+"\n"))
			got, err := op.client(t).UserInfo(t.Context(), &Tokens{AccessToken: "at"}, "user-1")
			wantError(t, err, tt.want)
			if err == nil && got["email"] != "a@b.example" {
				t.Error(got)
			}
		})
	}
}

func TestSignedUserInfoMalformed(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	for _, body := range []string{"", "a.b.c", `{"sub":"user-1"}`, "a.b.c.d.e", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ1c2VyLTEifQ."} {
		op.on("/userinfo", reply(200, "application/jwt", body))
		if got, err := op.client(t).UserInfo(t.Context(), &Tokens{AccessToken: "at"}, "user-1"); err == nil {
			t.Errorf("%q: %v", body, got)
		}
	}
}
