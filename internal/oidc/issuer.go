package oidc

import (
	"slices"
	"strings"
)

// matchIssuer reports whether iss is the configured issuer. For a multi-tenant
// one it also returns the tenant in iss, which the caller must find again in the
// signed tid claim: the part of the URL alone proves nothing.
func (c *Client) matchIssuer(iss string) (tenant string, ok bool) {
	before, after, many := strings.Cut(c.cfg.Issuer, tenantPlaceholder)
	if !many {
		return "", iss == c.cfg.Issuer
	}
	tenant, ok = strings.CutPrefix(iss, before)
	if !ok {
		return "", false
	}
	if tenant, ok = strings.CutSuffix(tenant, after); !ok || !tenantName(tenant) {
		return "", false
	}
	if len(c.cfg.Tenants) > 0 && !slices.Contains(c.cfg.Tenants, tenant) {
		return "", false
	}
	return tenant, true
}

// tenantName accepts what can stand in one segment of a path: a UUID or a domain
// name.
func tenantName(s string) bool {
	return len(s) > 0 && len(s) <= 253 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.')
	})
}
