package oidc

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// tenantPlaceholder is what a multi-tenant issuer has in place of the tenant.
const tenantPlaceholder = "{tenantid}"

// MultiTenant reports whether an issuer stands for several.
func MultiTenant(issuer string) bool { return strings.Contains(issuer, tenantPlaceholder) }

func (c *Config) multiTenant() bool { return MultiTenant(c.Issuer) }

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

// CheckIssuer checks the iss parameters of an authorization response, against
// mix-up attacks (RFC 9207, section 2.4). Pass all values that came. More than
// one is refused; one must equal the issuer when that is known; none is refused
// when the provider announced that it sends one. Plain OAuth 2.0 without issuer
// has nothing to compare with, and a provider may begin to send iss any day, so
// there a single value is ignored.
func (c *Client) CheckIssuer(ctx context.Context, iss []string) error {
	if len(iss) > 1 {
		return errors.New("authorization response: more than one iss")
	}
	if c.cfg.Issuer == "" {
		return nil
	}
	if len(iss) == 1 {
		if _, ok := c.matchIssuer(iss[0]); !ok {
			return errors.New("authorization response: iss is of another provider")
		}
		return nil
	}
	md, err := c.Metadata(ctx)
	if err != nil {
		return err
	}
	if md.IssParameter {
		return errors.New("authorization response: iss is missing")
	}
	return nil
}
