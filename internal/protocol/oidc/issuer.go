package oidc

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// tenantPlaceholder stands for the tenant in a multi-tenant issuer.
const tenantPlaceholder = "{tenantid}"

// MultiTenant reports whether an issuer stands for several tenants.
func MultiTenant(issuer string) bool { return strings.Contains(issuer, tenantPlaceholder) }

func (c *Config) multiTenant() bool { return MultiTenant(c.Issuer) }

// matchIssuer reports whether iss is the configured issuer. For a multi-tenant issuer,
// it also returns the tenant in iss. The caller must compare it with the signed tid
// claim, since the part of the URL alone proves nothing.
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

// tenantName accepts a UUID or a domain name, which fit into one segment of a path.
func tenantName(s string) bool {
	return len(s) > 0 && len(s) <= 253 && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.')
	})
}

// CheckIssuer checks the iss parameters of an authorization response against mix-up
// attacks (RFC 9207, section 2.4). Pass all values received. More than one value is
// refused. If the issuer is known, a single value must equal it, and a missing one is
// refused if the provider announced that it sends iss. Plain OAuth 2.0 without issuer
// has nothing to compare with, and a provider may start to send iss at any time, so a
// single value is ignored there.
func (c *Client) CheckIssuer(ctx context.Context, iss []string) error {
	if len(iss) > 1 {
		return errors.New("authorization response: more than one iss")
	}
	if c.cfg.Issuer == "" {
		return nil
	}
	if len(iss) == 1 {
		if _, ok := c.matchIssuer(iss[0]); !ok {
			return errors.New("authorization response: iss names another provider")
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
