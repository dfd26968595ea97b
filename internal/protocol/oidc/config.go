package oidc

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	jose "github.com/go-jose/go-jose/v4"

	"authsvc/internal/protocol/outbound"
)

// Config describes one client at one provider.
type Config struct {
	// Issuer is the provider's issuer identifier, compared byte by byte. Empty
	// means plain OAuth 2.0 without issuer. It may hold "{tenantid}" once, as
	// Microsoft's multi-tenant issuer does: then an ID token's iss must be the
	// issuer rebuilt with the tid claim of that same, verified token. DiscoveryURL
	// or all endpoints must be set in that case.
	Issuer string
	// Tenants are the tenants allowed by a multi-tenant Issuer. Default: any.
	Tenants []string

	// DiscoveryURL is where the metadata is. Default: Issuer and
	// "/.well-known/openid-configuration".
	DiscoveryURL string
	// The endpoints override discovered ones. Without Issuer, AuthorizationURL and
	// TokenURL are required. When nothing needed is missing and DiscoveryURL is
	// empty, discovery is not used at all.
	AuthorizationURL, TokenURL, UserInfoURL, JWKSURL string
	// RevocationURL and EndSessionURL override discovered ones too; nothing is
	// discovered for their sake.
	RevocationURL, EndSessionURL string
	// Hosts are further hosts that [Client.Outbound] may reach, as host[:port];
	// "*.example.com" is any subdomain.
	Hosts []string

	// ClientID and ClientSecret are what the provider gave out. The secret may be
	// empty with AuthNone.
	ClientID, ClientSecret string
	// SecretPerGrant: every [Grant] and [Refresh] brings the secret, in place of
	// ClientSecret.
	SecretPerGrant bool
	// ClientIDParam names the parameter of the client id. Default "client_id".
	ClientIDParam string
	// TokenParams are added to token requests.
	TokenParams map[string]string
	// AuthMethod is ClientSecretBasic, ClientSecretPost, PrivateKeyJWT or AuthNone.
	// Default: none without ClientSecret; post when the provider announces post and
	// not basic; else basic.
	AuthMethod string
	// PrivateKey, as [ParseClientKey] reads it, signs with PrivateKeyJWT; KeyID is
	// its kid. AssertionAudience is the aud of the assertion, by default Issuer.
	PrivateKey, KeyID string
	AssertionAudience string

	// OpenID asks for an ID token in every exchange. It needs Issuer.
	OpenID bool
	// Algs are the accepted signature algorithms of ID tokens. Default: RSA, ECDSA
	// and EdDSA signatures. HS256, HS384 and HS512 use ClientSecret as key and are
	// accepted only when listed here; "none" never is.
	Algs []string

	// Stale, if not nil, is called when a document, "metadata" or "keys", cannot be
	// fetched while an older one serves: once, until a fetch succeeds.
	Stale func(document string, err error)

	// HTTP makes all calls. Redirects, cookies and unbounded bodies are off in any
	// case. Default: outbound.NewHTTPClient(outbound.HTTPOptions{}).
	HTTP *http.Client
	// TokenHeaders and UserInfoHeaders are added to the calls of those endpoints,
	// for example Accept, User-Agent or a version header.
	TokenHeaders, UserInfoHeaders map[string]string
	// UserInfoMethod is GET (default) or POST; UserInfoBody is what a POST
	// carries, JSON if it begins with "{" or "[", else a form.
	UserInfoMethod, UserInfoBody string
	// UserInfoAuth says how the access token travels to the userinfo endpoint and
	// with [Client.Outbound]: "" is the header "Authorization: Bearer"; "query:NAME",
	// "header:NAME" and "header:NAME SCHEME" are the other ways.
	UserInfoAuth string
}

// urls are the URLs that the operator configured, by the name of their field.
func (c *Config) urls() map[string]string {
	urls := map[string]string{
		"issuer":            c.Issuer,
		"discovery url":     c.DiscoveryURL,
		"authorization url": c.AuthorizationURL,
		"token url":         c.TokenURL,
		"userinfo url":      c.UserInfoURL,
		"jwks url":          c.JWKSURL,
		"revocation url":    c.RevocationURL,
		"end session url":   c.EndSessionURL,
	}
	maps.DeleteFunc(urls, func(_, raw string) bool { return raw == "" })
	return urls
}

func (c *Config) needsDiscovery() bool {
	if c.DiscoveryURL != "" {
		return true
	}
	missing := c.AuthorizationURL == "" || c.TokenURL == "" || c.needsJWKS() && c.JWKSURL == ""
	return c.Issuer != "" && missing
}

// needsJWKS reports whether a public key may be needed to check an ID token.
func (c *Config) needsJWKS() bool {
	return c.OpenID && slices.ContainsFunc(algorithms(c.Algs), func(a jose.SignatureAlgorithm) bool { return !symmetric(a) })
}

func (c *Config) check() error {
	var errs []error
	urls := c.urls()
	for _, name := range slices.Sorted(maps.Keys(urls)) {
		if err := outbound.CheckURL(urls[name]); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	if strings.Contains(c.Issuer, "?") {
		errs = append(errs, errors.New("issuer: must not have a query"))
	}
	switch {
	case c.Issuer == "" && c.OpenID:
		errs = append(errs, errors.New("issuer: required for OpenID Connect"))
	case c.Issuer == "" && (c.AuthorizationURL == "" || c.TokenURL == ""):
		for _, one := range []struct{ name, url string }{{"authorization url", c.AuthorizationURL}, {"token url", c.TokenURL}} {
			if one.url == "" {
				errs = append(errs, errors.New(one.name+": required without issuer"))
			}
		}
	case c.Issuer == "" && c.DiscoveryURL != "":
		errs = append(errs, errors.New("discovery url: needs an issuer to compare with"))
	case c.multiTenant() && c.DiscoveryURL == "" && c.needsDiscovery():
		errs = append(errs, errors.New("discovery url: required for a multi-tenant issuer"))
	}
	if strings.Count(c.Issuer, tenantPlaceholder) > 1 {
		errs = append(errs, errors.New("issuer: more than one tenant mark"))
	}
	errs = append(errs, slices.Concat(c.checkClient(), c.checkUserInfo())...)
	errs = append(errs, c.checkAssertion(), c.checkAlgs(), c.checkTokenParams(), c.checkHosts())
	errs = append(errs, outbound.CheckHeaders("token headers", c.TokenHeaders), outbound.CheckHeaders("userinfo headers", c.UserInfoHeaders))
	if m, err := outbound.ParseBearerMethod(c.UserInfoAuth); err == nil && m.Collides(c.UserInfoHeaders) {
		errs = append(errs, errors.New("userinfo headers: set the one that holds the access token"))
	}
	return errors.Join(errs...)
}

func (c *Config) checkClient() []error {
	var errs []error
	if c.ClientID == "" {
		errs = append(errs, errors.New("client id: required"))
	}
	if name := c.ClientIDParam; strings.ContainsFunc(name, notCode) || name != "client_id" && (ReservedParam(name) || ReservedTokenParam(name)) {
		errs = append(errs, errors.New("client id param: is not plain or has another meaning"))
	}
	switch c.AuthMethod {
	case "", AuthNone, PrivateKeyJWT:
	case ClientSecretBasic, ClientSecretPost:
		if c.ClientSecret == "" && !c.SecretPerGrant {
			errs = append(errs, fmt.Errorf("client secret: required for %s", c.AuthMethod))
		}
	default:
		errs = append(errs, fmt.Errorf("auth method: %q is not supported", c.AuthMethod))
	}
	return errs
}

func (c *Config) checkHosts() error {
	if err := outbound.CheckHosts(c.Hosts); err != nil {
		return fmt.Errorf("hosts: %w", err)
	}
	return nil
}

// checkTokenParams refuses parameters that the token request has a meaning for.
func (c *Config) checkTokenParams() error {
	for _, name := range slices.Sorted(maps.Keys(c.TokenParams)) {
		if ReservedTokenParam(name) || name == c.ClientIDParam {
			return fmt.Errorf("token params: %q cannot be set", name)
		}
	}
	return nil
}

func (c *Config) checkUserInfo() []error {
	var errs []error
	switch {
	case c.UserInfoMethod != "" && c.UserInfoMethod != http.MethodGet && c.UserInfoMethod != http.MethodPost:
		errs = append(errs, errors.New("userinfo method: is neither GET nor POST"))
	case c.UserInfoBody != "" && c.UserInfoMethod != http.MethodPost:
		errs = append(errs, errors.New("userinfo body: needs the method POST"))
	}
	if _, err := outbound.ParseBearerMethod(c.UserInfoAuth); err != nil {
		errs = append(errs, fmt.Errorf("userinfo auth: %w", err))
	}
	return errs
}
