package oidc

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestMultiTenant(t *testing.T) {
	t.Parallel()
	s := newSigner("k")
	const base = "https://idp.example"
	issuer := Config{Issuer: base + "/{tenantid}/v2.0", DiscoveryURL: base + "/common/discovery"}
	allowed := issuer
	allowed.Tenants = []string{"tenant-1"}
	every, one := offline(t, s, issuer, map[string]int{}), offline(t, s, allowed, map[string]int{})
	tests := []struct {
		name     string
		iss      string
		tid      any
		everyOK  bool
		oneOK    bool
		wantText string
	}{
		{"ours", base + "/tenant-1/v2.0", "tenant-1", true, true, ""},
		{"another", base + "/tenant-2/v2.0", "tenant-2", true, false, "iss is not"},
		{"tid forged", base + "/tenant-2/v2.0", "tenant-1", false, false, ""},
		{"iss forged", base + "/tenant-1/v2.0", "tenant-2", false, false, "tenants"},
		{"tid missing", base + "/tenant-1/v2.0", nil, false, false, "tenants"},
		{"the mark itself", base + "/{tenantid}/v2.0", "{tenantid}", false, false, "iss is not"},
		{"a path", base + "/tenant-1/x/v2.0", "tenant-1/x", false, false, "iss is not"},
		{"no tenant", base + "//v2.0", "", false, false, "iss is not"},
		{"another host", "https://evil.example/tenant-1/v2.0", "tenant-1", false, false, "iss is not"},
	}
	for _, tt := range tests {
		now := time.Now().Unix()
		raw := s.sign(t, map[string]any{"iss": tt.iss, "tid": tt.tid, "sub": "u", "aud": testClient, "iat": now, "exp": now + 60}, nil)
		_, err := every.VerifyIDToken(t.Context(), raw, IDTokenCheck{})
		if (err == nil) != tt.everyOK {
			t.Errorf("%s: any tenant: %v", tt.name, err)
		}
		_, err = one.VerifyIDToken(t.Context(), raw, IDTokenCheck{})
		if (err == nil) != tt.oneOK || err != nil && !strings.Contains(err.Error(), tt.wantText) {
			t.Errorf("%s: one tenant: %v", tt.name, err)
		}
	}
}

// TestOtherIssuer checks what the log says about an issuer that is not the configured
// one.
func TestOtherIssuer(t *testing.T) {
	t.Parallel()
	const realm = "https://id.example/realms/a"
	several := &Client{cfg: Config{Issuer: "https://id.example/{tenantid}/v2", Tenants: []string{"t-1", "t-2"}}}
	for name, tt := range map[string]struct{ got, want string }{
		"another":      {otherIssuer("https://id.example/realms/b", realm), `it is "https://id.example/realms/b", but the configuration has "` + realm + `"`},
		"slash more":   {otherIssuer(realm+"/", realm), `it is "` + realm + `/", but the configuration has "` + realm + `"; only the slash at the end differs`},
		"slash less":   {otherIssuer(realm, realm+"/"), `it is "` + realm + `", but the configuration has "` + realm + `/"; only the slash at the end differs`},
		"two slashes":  {otherIssuer(realm+"//", realm), `it is "` + realm + `//", but the configuration has "` + realm + `"`},
		"one of two":   {otherIssuer("c", "a", "b"), `it is "c", but the configuration has "a" or "b"`},
		"missing":      {otherIssuer(nil, realm), "it is missing or not a text"},
		"a list":       {otherIssuer([]any{realm}, realm), "it is missing or not a text"},
		"a line break": {otherIssuer("a\nlevel=ERROR \x1b[31m", realm), `it is "a?level=ERROR ?[31m", but the configuration has "` + realm + `"`},
		"long":         {otherIssuer(strings.Repeat("a", 300), realm), `it is "` + strings.Repeat("a", 200) + `", but the configuration has "` + realm + `"`},
		"tenants":      {several.otherIssuer("https://id.example/t-3/v2"), `it is "https://id.example/t-3/v2", but the configuration has "https://id.example/{tenantid}/v2" with the tenants t-1, t-2`},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s\nwant %s", name, tt.got, tt.want)
		}
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
		{"announced, slash", Config{Issuer: issuer}, true, []string{issuer + "/"}, `another provider: it is "https://idp.example/", but the configuration has "https://idp.example"; only the slash`},
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
