package oidc

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"authsvc/internal/text"
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

// IsIssuer reports whether iss is the configured issuer or, for a multi-tenant issuer,
// one of an accepted tenant. Nothing proves that iss tells the truth.
func (c *Client) IsIssuer(iss string) bool {
	_, ok := c.matchIssuer(iss)
	return ok && iss != ""
}

// maxShownIssuer limits an issuer in an error, in bytes.
const maxShownIssuer = 200

// otherIssuer says which issuer came instead of the configured ones. The text is safe
// for a log line, whatever came.
func otherIssuer(came any, configured ...string) string {
	iss, _ := came.(string)
	if iss == "" {
		return "it is missing or not a text"
	}
	s := fmt.Sprintf(`it is %q, but the configuration has "%s"`, text.Printable(iss, maxShownIssuer), strings.Join(configured, `" or "`))
	if slices.ContainsFunc(configured, func(c string) bool { return strings.TrimSuffix(c, "/") == strings.TrimSuffix(iss, "/") }) {
		s += "; only the slash at the end differs"
	}
	return s
}

// otherIssuer says which issuer came instead of the client's.
func (c *Client) otherIssuer(came any) string {
	s := otherIssuer(came, c.cfg.Issuer)
	if c.cfg.multiTenant() && len(c.cfg.Tenants) > 0 {
		s += " with the tenants " + text.Printable(strings.Join(c.cfg.Tenants, ", "), maxShownIssuer)
	}
	return s
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
			return quotedIssuer("authorization response: iss names another provider: " + c.otherIssuer(iss[0]))
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
