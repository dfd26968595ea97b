package oidc

import (
	"maps"
	"slices"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc/internal/protocol/outbound"
)

// Client is a relying party: one client at one provider. It is safe for concurrent use.
type Client struct {
	cfg      Config
	outbound *outbound.Client
	algs     []jose.SignatureAlgorithm
	key      *ClientKey // with PrivateKeyJWT
	bearer   outbound.BearerMethod
	static   *Metadata // set if there is nothing to discover
	metadata cached[*Metadata]
	keys     cached[[]jose.JSONWebKey]
	jwts     *JWTVerifier
	token    outbound.Breaker
	userinfo outbound.Breaker
}

// New checks the configuration and reports all mistakes together. It makes no network
// calls, so an unreachable provider does not prevent the start of the service.
func New(cfg Config) (*Client, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.Tenants = slices.Clone(cfg.Tenants)
	cfg.TokenParams = maps.Clone(cfg.TokenParams)
	cfg.TokenHeaders = maps.Clone(cfg.TokenHeaders)
	cfg.UserInfoHeaders = maps.Clone(cfg.UserInfoHeaders)
	c := &Client{cfg: cfg, algs: algorithms(cfg.Algs)}
	c.bearer, _ = outbound.ParseBearerMethod(cfg.UserInfoAuth) // checked
	if cfg.AuthMethod == PrivateKeyJWT {
		c.key, _ = ParseClientKey(cfg.PrivateKey, cfg.KeyID) // checked
	}
	var err error
	c.outbound, err = outbound.New(outbound.Config{URLs: cfg.urls(), Plain: cfg.plain(), Hosts: cfg.Hosts, Discovered: c.discoveredUserInfo, Bearer: c.bearer, HTTP: cfg.HTTP})
	if err != nil {
		return nil, err
	}
	c.jwts = newJWTVerifier(c.outbound, c.algs, &c.keys)
	if !cfg.needsDiscovery() {
		c.static = &Metadata{
			Issuer:           cfg.Issuer,
			AuthorizationURL: cfg.AuthorizationURL,
			TokenURL:         cfg.TokenURL,
			UserInfoURL:      cfg.UserInfoURL,
			JWKSURL:          cfg.JWKSURL,
			RevocationURL:    cfg.RevocationURL,
			EndSessionURL:    cfg.EndSessionURL,
		}
	}
	c.metadata.fetch = c.fetchMetadata
	c.keys.fetch = c.fetchKeys
	if cfg.Stale != nil {
		c.metadata.stale = func(err error) { cfg.Stale("metadata", err) }
		c.keys.stale = func(err error) { cfg.Stale("keys", err) }
	}
	return c, nil
}

// Outbound returns the client for further calls to the provider. It attaches access
// tokens as Config.UserInfoAuth says.
func (c *Client) Outbound() *outbound.Client { return c.outbound }

// discoveredUserInfo returns the userinfo endpoint of the cached metadata, or "" if
// nothing is cached. Further calls may reach its host, because it receives the access
// token in any case.
func (c *Client) discoveredUserInfo() string {
	if md, _ := c.metadata.last(); md != nil {
		return md.UserInfoURL
	}
	return ""
}
