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
	// Issuer is the provider's issuer identifier, compared byte by byte. Empty means
	// plain OAuth 2.0 without issuer. It may contain "{tenantid}" once, as Microsoft's
	// multi-tenant issuer does. Then an ID token's iss must be the issuer with the tid
	// claim of the same verified token, and DiscoveryURL or all endpoints must be set.
	Issuer string
	// InsecureIssuer permits http to the host and port of Issuer, in an internal network:
	// see [outbound.Config].Plain.
	InsecureIssuer bool
	// Tenants lists the tenants allowed by a multi-tenant Issuer. Default: any.
	Tenants []string

	// DiscoveryURL is the URL of the metadata. Default: Issuer followed by
	// "/.well-known/openid-configuration".
	DiscoveryURL string
	// AuthorizationURL, TokenURL, UserInfoURL and JWKSURL override discovered
	// endpoints. Without Issuer, AuthorizationURL and TokenURL are required. If all
	// needed endpoints are set and DiscoveryURL is empty, discovery is not used.
	AuthorizationURL, TokenURL, UserInfoURL, JWKSURL string
	// RevocationURL and EndSessionURL also override discovered endpoints. A missing one
	// does not cause discovery.
	RevocationURL, EndSessionURL string
	// Hosts lists further hosts that [Client.Outbound] may reach, as host[:port];
	// "*.example.com" is any subdomain.
	Hosts []string

	// ClientID and ClientSecret are the credentials issued by the provider. The secret
	// may be empty with AuthNone.
	ClientID, ClientSecret string
	// SecretPerGrant says that every [Grant] and [Refresh] contains the secret, instead
	// of ClientSecret.
	SecretPerGrant bool
	// ClientIDParam names the parameter of the client ID. Default: "client_id".
	ClientIDParam string
	// TokenParams are added to token requests.
	TokenParams map[string]string
	// AuthMethod is ClientSecretBasic, ClientSecretPost, PrivateKeyJWT or AuthNone.
	// Default: AuthNone without ClientSecret; ClientSecretPost if the provider
	// announces post and not basic; otherwise ClientSecretBasic.
	AuthMethod string
	// PrivateKey, in a form that [ParseClientKey] reads, signs with PrivateKeyJWT.
	// KeyID is its kid. AssertionAudience is the aud of the assertion, by default
	// Issuer.
	PrivateKey, KeyID string
	AssertionAudience string

	// OpenID requires an ID token in every exchange. It needs Issuer.
	OpenID bool
	// Algs lists the accepted signature algorithms of ID tokens. Default: RSA, ECDSA
	// and EdDSA signatures. HS256, HS384 and HS512 use ClientSecret as key and are
	// accepted only if listed here. "none" is never accepted.
	Algs []string

	// Stale, if not nil, is called when a document, "metadata" or "keys", cannot be
	// fetched and an older one is used: once, until a fetch succeeds.
	Stale func(document string, err error)

	// HTTP makes all calls. Redirects, cookies and unlimited bodies are always off.
	// Default: outbound.NewHTTPClient(outbound.HTTPOptions{}).
	HTTP *http.Client
	// TokenHeaders and UserInfoHeaders are added to the calls of those endpoints, for
	// example Accept, User-Agent or a version header.
	TokenHeaders, UserInfoHeaders map[string]string
	// UserInfoMethod is GET (default) or POST. UserInfoBody is the body of a POST: JSON
	// if it begins with "{" or "[", else a form.
	UserInfoMethod, UserInfoBody string
	// UserInfoAuth says how the access token is sent to the userinfo endpoint and with
	// [Client.Outbound]. Empty means the header "Authorization: Bearer"; other forms
	// are "query:NAME", "header:NAME" and "header:NAME SCHEME".
	UserInfoAuth string
}

// urls returns the URLs that the operator configured, by the name of their field.
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

// plain returns the URL whose host may be called by http, or "".
func (c *Config) plain() string {
	if c.InsecureIssuer {
		return c.Issuer
	}
	return ""
}

func (c *Config) needsDiscovery() bool {
	if c.DiscoveryURL != "" {
		return true
	}
	missing := c.AuthorizationURL == "" || c.TokenURL == "" || c.needsJWKS() && c.JWKSURL == ""
	return c.Issuer != "" && missing
}

// needsJWKS reports whether checking an ID token may need a public key.
func (c *Config) needsJWKS() bool {
	return c.OpenID && slices.ContainsFunc(algorithms(c.Algs), func(a jose.SignatureAlgorithm) bool { return !symmetric(a) })
}

func (c *Config) check() error {
	var errs []error
	urls := c.urls()
	for _, name := range slices.Sorted(maps.Keys(urls)) {
		if err := outbound.CheckURLWith(urls[name], c.plain()); err != nil {
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
		errs = append(errs, errors.New("issuer: has more than one tenant placeholder"))
	}
	errs = append(errs, slices.Concat(c.checkClient(), c.checkUserInfo())...)
	errs = append(errs, c.checkAssertion(), c.checkAlgs(), c.checkTokenParams(), c.checkHosts())
	errs = append(errs, outbound.CheckHeaders("token headers", c.TokenHeaders), outbound.CheckHeaders("userinfo headers", c.UserInfoHeaders))
	if m, err := outbound.ParseBearerMethod(c.UserInfoAuth); err == nil && m.Collides(c.UserInfoHeaders) {
		errs = append(errs, errors.New("userinfo headers: must not set the header that carries the access token"))
	}
	return errors.Join(errs...)
}

func (c *Config) checkClient() []error {
	var errs []error
	if c.ClientID == "" {
		errs = append(errs, errors.New("client id: required"))
	}
	if name := c.ClientIDParam; strings.ContainsFunc(name, notCode) || name != "client_id" && (ReservedParam(name) || ReservedTokenParam(name)) {
		errs = append(errs, errors.New("client id param: has characters that are not allowed, or is a reserved name"))
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

// checkTokenParams refuses parameters that have a meaning in token requests.
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
		errs = append(errs, errors.New("userinfo method: must be GET or POST"))
	case c.UserInfoBody != "" && c.UserInfoMethod != http.MethodPost:
		errs = append(errs, errors.New("userinfo body: needs the method POST"))
	}
	if _, err := outbound.ParseBearerMethod(c.UserInfoAuth); err != nil {
		errs = append(errs, fmt.Errorf("userinfo auth: %w", err))
	}
	return errs
}
