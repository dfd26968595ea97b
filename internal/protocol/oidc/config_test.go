package oidc

import "testing"

func TestNew(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		mod  func(*Config)
		want string
	}{
		{"openid", func(*Config) {}, ""},
		{"plain", func(c *Config) {
			*c = Config{AuthorizationURL: "https://a.example/a", TokenURL: "https://b.example/t", ClientID: "x"}
		}, ""},
		{"loopback http", func(c *Config) { c.Issuer = "http://localhost:8080" }, ""},
		{"http", func(c *Config) { c.Issuer = "http://idp.example" }, "issuer: only https"},
		{"http private", func(c *Config) { c.TokenURL = "http://10.0.0.1/token" }, "token url: only https"},
		{"file", func(c *Config) { c.JWKSURL = "file:///etc/passwd" }, "jwks url: only https"},
		{"user information", func(c *Config) { c.UserInfoURL = "https://a:b@idp.example/" }, "userinfo url: must not have user"},
		{"fragment", func(c *Config) { c.AuthorizationURL = "https://idp.example/#x" }, "authorization url: must not have a fragment"},
		{"issuer query", func(c *Config) { c.Issuer = "https://idp.example/?x=1" }, "must not have a query"},
		{"garbage", func(c *Config) { c.Issuer = "https://idp example/%zz" }, "issuer: not a url"},
		{"no issuer", func(c *Config) { c.Issuer = "" }, "issuer: required"},
		{"plain without endpoints", func(c *Config) { c.Issuer, c.OpenID = "", false }, "authorization url: required without issuer\ntoken url: required without issuer"},
		{"no client", func(c *Config) { c.ClientID = "" }, "client id: required"},
		{"basic without secret", func(c *Config) { c.ClientSecret, c.AuthMethod = "", ClientSecretBasic }, "client secret: required"},
		{"none without secret", func(c *Config) { c.ClientSecret, c.AuthMethod = "", AuthNone }, ""},
		{"unknown method", func(c *Config) { c.AuthMethod = "tls_client_auth" }, "not supported"},
		{"alg none", func(c *Config) { c.Algs = []string{"RS256", "none"} }, `"none" is not supported`},
		{"alg empty", func(c *Config) { c.Algs = []string{""} }, "not supported"},
		{"alg HS256", func(c *Config) { c.Algs = []string{"HS256"} }, ""},
		{"alg HS256 with a short secret", func(c *Config) { c.Algs, c.ClientSecret = []string{"HS256"}, "short" }, "at least 32 bytes"},
		{"authorization header", func(c *Config) { c.TokenHeaders = map[string]string{"authorization": "x"} }, "cannot be set"},
		{"other header", func(c *Config) { c.UserInfoHeaders = map[string]string{"Notion-Version": "x"} }, ""},
		{"tenants", func(c *Config) {
			c.Issuer, c.DiscoveryURL = "https://idp.example/{tenantid}/v2", "https://idp.example/common"
		}, ""},
		{"tenants without discovery", func(c *Config) { c.Issuer = "https://idp.example/{tenantid}/v2" }, "multi-tenant"},
		{"tenant twice", func(c *Config) {
			c.Issuer, c.DiscoveryURL = "https://idp.example/{tenantid}/{tenantid}", "https://idp.example/common"
		}, "more than one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := Config{Issuer: "https://idp.example", ClientID: testClient, ClientSecret: testSecret, OpenID: true}
			tt.mod(&c)
			_, err := New(c)
			wantError(t, err, tt.want)
		})
	}
}

func TestNewReportsAllMistakes(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Issuer: "http://idp.example", Algs: []string{"none"}})
	for _, want := range []string{"issuer", "client id", "algs"} {
		wantError(t, err, want)
	}
}
