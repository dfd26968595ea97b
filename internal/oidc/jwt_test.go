package oidc

import (
	"maps"
	"net/http"
	"net/url"
	"testing"
	"time"

	"authsvc/internal/outbound"

	jose "github.com/go-jose/go-jose/v4"
)

// with is claims with some replaced, or with nil removed.
func with(claims map[string]any, changes map[string]any) map[string]any {
	c := maps.Clone(claims)
	for name, v := range changes {
		if c[name] = v; v == nil {
			delete(c, name)
		}
	}
	return c
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

func TestVerifyJWT(t *testing.T) {
	t.Parallel()
	now := time.Now().Unix()
	for name, tt := range map[string]struct {
		changes map[string]any
		header  map[string]any
		keys    string // URL of the key set; "": the provider's own
		hmac    bool
		want    string
	}{
		"own keys":         {},
		"access token":     {header: map[string]any{"typ": "at+jwt"}},
		"named keys":       {keys: "/jwks"},
		"no iat":           {changes: map[string]any{"iat": nil}},
		"another issuer":   {changes: map[string]any{"iss": "https://evil.example"}, want: "iss"},
		"no issuer":        {changes: map[string]any{"iss": nil}, want: "iss"},
		"another audience": {changes: map[string]any{"aud": "x"}, want: "aud"},
		"no audience":      {changes: map[string]any{"aud": nil}, want: "aud"},
		"no expiry":        {changes: map[string]any{"exp": nil}, want: "exp"},
		"expired":          {changes: map[string]any{"exp": now - 100}, want: "expired"},
		"logout token":     {header: map[string]any{"typ": "logout+jwt"}, want: "another kind"},
		"HMAC":             {hmac: true, want: "signature"},
		"keys elsewhere":   {keys: "https://evil.example/jwks", want: "does not name the host"},
		"keys over http":   {keys: "http://evil.example/jwks", want: "only https"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := newProvider(t)
			s := op.signer
			if tt.hmac {
				s = &signer{jose.HS256, "", []byte(testSecret)}
			}
			keys := tt.keys
			if u, err := url.Parse(keys); err == nil && keys != "" && u.Host == "" {
				keys = op.URL + keys
			}
			client := op.client(t, func(c *Config) { c.Algs = []string{"ES256", "HS256"} })
			got, err := client.JWTs().Verify(t.Context(), s.sign(t, with(op.claims(), tt.changes), tt.header), keys, []string{"https://x.example", op.URL}, testClient)
			wantError(t, err, tt.want)
			if err == nil && got["sub"] != "user-1" {
				t.Error(got)
			}
		})
	}
	op := newProvider(t)
	raw := op.signer.sign(t, with(op.claims(), map[string]any{"aud": "", "iss": ""}), nil)
	if _, err := op.client(t).JWTs().Verify(t.Context(), raw, "", []string{""}, ""); err == nil {
		t.Error("nothing asked for is nothing verified")
	}
	op = newProvider(t)
	client := op.client(t)
	good := op.signer.sign(t, op.claims(), nil)
	for range 3 {
		if _, err := client.JWTs().Verify(t.Context(), good, op.URL+"/jwks", []string{op.URL}, testClient); err != nil {
			t.Error(err)
		}
	}
	if n := op.count("/jwks"); n != 1 {
		t.Errorf("%d fetches of the keys", n)
	}
}

// TestVerifyWithoutOwnKeys: a provider of another protocol has the key sets that
// are named, on its hosts, and no other.
func TestVerifyWithoutOwnKeys(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	out, err := outbound.New(outbound.Config{URLs: map[string]string{"endpoint": op.URL}})
	wantError(t, err, "")
	t.Cleanup(out.CloseIdleConnections)
	v := NewJWTVerifier(out)
	raw := op.signer.sign(t, op.claims(), nil)
	for keys, want := range map[string]string{op.URL + "/jwks": "", "": "no key set url is known", "https://evil.example/jwks": "does not name the host"} {
		_, err := v.Verify(t.Context(), raw, keys, []string{op.URL}, testClient)
		wantError(t, err, want)
	}
}

// TestDiscoveredUserInfoHost: the endpoint that gets the token anyway may be
// called once it is known.
func TestDiscoveredUserInfoHost(t *testing.T) {
	t.Parallel()
	op := newProvider(t)
	op.on("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		doc := op.document()
		doc["userinfo_endpoint"] = "https://api.example/me"
		writeJSON(w, doc)
	})
	client := op.client(t)
	api := mustURL(t, "https://api.example/emails")
	if client.Outbound().MayCall(api) {
		t.Error("nothing is discovered yet")
	}
	_, err := client.Metadata(t.Context())
	wantError(t, err, "")
	if !client.Outbound().MayCall(api) || client.Outbound().MayCall(mustURL(t, "https://evil.example/")) {
		t.Error("another host than the discovered one")
	}
}
