package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc/internal/protocol/outbound"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/strictjson"
)

// Metadata holds what a client knows about its provider, from configuration and
// discovery (OpenID Connect Discovery 1.0, section 3; RFC 8414).
type Metadata struct {
	// Issuer is the provider's identifier; empty for plain OAuth 2.0.
	Issuer string
	// UserInfoURL and JWKSURL may be empty.
	AuthorizationURL, TokenURL, UserInfoURL, JWKSURL string
	// RevocationURL (RFC 7009) and EndSessionURL (RP-Initiated Logout 1.0) may be
	// empty.
	RevocationURL, EndSessionURL string
	// BackchannelLogout says that the provider sends logout tokens (Back-Channel Logout
	// 1.0).
	BackchannelLogout bool
	// IssParameter says that every authorization response has an iss parameter
	// (authorization_response_iss_parameter_supported, RFC 9207).
	IssParameter bool

	// postOnly says that the token endpoint announces client_secret_post and not basic.
	postOnly bool
	// assertionAlg is the algorithm of client assertions; empty: the key's first.
	assertionAlg jose.SignatureAlgorithm
}

// Metadata returns the provider's metadata, which is fetched when first needed. It is
// cached for an hour, or for up to a day while the provider fails. A failed fetch is
// not repeated for five seconds.
func (c *Client) Metadata(ctx context.Context) (*Metadata, error) {
	md := c.static
	if md == nil {
		var err error
		if md, err = c.metadata.get(ctx); err != nil {
			return nil, fmt.Errorf("discovery: %w", err)
		}
	}
	own := *md
	return &own, nil
}

func (c *Client) fetchMetadata(ctx context.Context) (*Metadata, error) {
	from := c.cfg.DiscoveryURL
	if from == "" {
		from = strings.TrimSuffix(c.cfg.Issuer, "/") + "/.well-known/openid-configuration"
	}
	body, err := c.outbound.Document(ctx, from)
	if status := outbound.Status(0); errors.As(err, &status) {
		return nil, &Mismatch{"discovery url", status}
	}
	if err != nil {
		return nil, err
	}
	return c.parseMetadata(body)
}

// parseMetadata checks a discovery document. Its issuer must equal the configured one
// exactly (Discovery, section 4.3), so that one provider cannot pose as another.
func (c *Client) parseMetadata(body []byte) (*Metadata, error) {
	object, err := strictjson.Object(body)
	if err != nil {
		return nil, err
	}
	doc := Claims(object)
	if doc["issuer"] != c.cfg.Issuer {
		return nil, &Mismatch{"issuer", errors.New("issuer is not the configured one: " + c.otherIssuer(doc["issuer"]))}
	}
	md := &Metadata{
		Issuer:            c.cfg.Issuer,
		IssParameter:      doc.Bool("authorization_response_iss_parameter_supported"),
		BackchannelLogout: doc.Bool("backchannel_logout_supported"),
		postOnly:          postOnly(doc["token_endpoint_auth_methods_supported"]),
	}
	if md.assertionAlg, err = c.chooseAssertionAlg(doc["token_endpoint_auth_signing_alg_values_supported"]); err != nil {
		return nil, err
	}
	for _, e := range []struct {
		name       string
		configured string
		into       *string
		required   bool
	}{
		{"authorization_endpoint", c.cfg.AuthorizationURL, &md.AuthorizationURL, true},
		{"token_endpoint", c.cfg.TokenURL, &md.TokenURL, true},
		{"userinfo_endpoint", c.cfg.UserInfoURL, &md.UserInfoURL, false},
		{"jwks_uri", c.cfg.JWKSURL, &md.JWKSURL, c.cfg.needsJWKS()},
	} {
		if e.configured != "" {
			*e.into = e.configured
			continue
		}
		if *e.into, err = c.endpoint(doc[e.name], e.required); err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
	}
	// Signing in does not need these two, so an unusable one is not a reason to refuse
	// the document.
	md.RevocationURL, md.EndSessionURL = c.cfg.RevocationURL, c.cfg.EndSessionURL
	if md.RevocationURL == "" {
		md.RevocationURL, _ = c.endpoint(doc["revocation_endpoint"], false)
	}
	if md.EndSessionURL == "" {
		md.EndSessionURL, _ = c.endpoint(doc["end_session_endpoint"], false)
	}
	return md, nil
}

// endpoint checks a discovered URL. Plain http to this machine is only for a provider on
// it: a remote one must not send us to a service on our loopback.
func (c *Client) endpoint(v any, required bool) (string, error) {
	if v == nil {
		if required {
			return "", errors.New("missing")
		}
		return "", nil
	}
	raw, ok := v.(string)
	if !ok {
		return "", errors.New("not a string")
	}
	if err := c.outbound.CheckURL(raw); err != nil {
		return "", err
	}
	issuer, err := url.Parse(c.cfg.Issuer)
	if err != nil {
		return "", errors.New("issuer is not a url")
	}
	if u, err := url.Parse(raw); err != nil || u.Scheme != "https" && weburl.Loopback(u.Hostname()) && !weburl.Loopback(issuer.Hostname()) {
		return "", outbound.ErrScheme
	}
	return raw, nil
}

func postOnly(methods any) bool {
	list, _ := methods.([]any)
	return slices.Contains(list, any(ClientSecretPost)) && !slices.Contains(list, any(ClientSecretBasic))
}
