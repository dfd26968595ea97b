package oidc

import (
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
