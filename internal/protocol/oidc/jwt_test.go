package oidc

import (
	"maps"
	"net/url"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc/internal/protocol/outbound"
)

// with returns claims with some replaced, or removed if nil.
func with(claims map[string]any, changes map[string]any) map[string]any {
	c := maps.Clone(claims)
	for name, v := range changes {
		if c[name] = v; v == nil {
			delete(c, name)
		}
	}
	return c
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

// TestVerifyWithoutOwnKeys checks that a provider of another protocol only has the
// named key sets, on its hosts.
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
