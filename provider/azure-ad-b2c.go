package provider

import (
	"net/url"
	"strings"

	"authsvc"
)

func azureADB2CEntry() Entry {
	return Entry{
		ID: "azure-ad-b2c", Name: "Azure AD B2C", Protocol: "oidc", Email: EmailIssuer,
		Docs: "https://learn.microsoft.com/en-us/azure/active-directory-b2c/openid-connect",
		Options: []Option{
			{Key: "issuer", Doc: "the user flow, such as https://acme.b2clogin.com/acme.onmicrosoft.com/B2C_1_signin/v2.0", Example: "https://acme.b2clogin.com/acme.onmicrosoft.com/B2C_1_signin/v2.0", Required: true},
			{Key: "tenant_id", Doc: "the Tenant ID of the directory, a GUID", Example: "aaaabbbb-0000-cccc-1111-dddd2222eeee", Required: true},
		},
		Notes: []string{
			"Microsoft accepts no new customers; the successor is External ID, see microsoft-entra-id.",
			"Tokens must name the issuer https://HOST/GUID/v2.0/, which is the default; for another issuer, use type: oidc with issuer and discovery_url.",
			"To treat every email address as verified, set trust_email: true; this is right for user flows that verify addresses.",
		},
		New: azureADB2C,
	}
}

// AzureADB2C signs in through a user flow of Azure AD B2C. issuer is the location of
// its metadata, https://NAME.b2clogin.com/NAME.onmicrosoft.com/USER_FLOW/v2.0. Tokens
// name the directory instead, so tenantID, the directory's GUID, is required as well.
// The user flow decides which claims tokens contain (tick the claims to return) and
// whether addresses are verified. The scope contains the client id, because without a
// scope of some API there is no access token.
//
// https://learn.microsoft.com/en-us/azure/active-directory-b2c/openid-connect
func AzureADB2C(c authsvc.Client, issuer, tenantID string) (*authsvc.OAuth, error) {
	at, err := url.Parse(withoutSlash(issuer))
	if err != nil || at.Scheme != "https" || at.Host == "" || at.User != nil || !strings.HasSuffix(at.Path, "/v2.0") || at.RawQuery != "" {
		return nil, &OptionError{Key: "issuer", Problem: "is not an https address that ends in /v2.0",
			Fix: "write https://NAME.b2clogin.com/NAME.onmicrosoft.com/USER_FLOW/v2.0"}
	}
	if !isGUID(tenantID) {
		return nil, &OptionError{Key: "tenant_id", Problem: "is not a GUID", Fix: "copy the Tenant ID from the overview of the directory"}
	}
	return &authsvc.OAuth{
		ID: "azure-ad-b2c", Name: "Azure AD B2C", Client: c,
		OpenID: true,
		Issuer: "https://" + at.Host + "/" + strings.ToLower(tenantID) + "/v2.0/",
		Endpoints: authsvc.Endpoints{
			Discovery: at.String() + "/.well-known/openid-configuration",
		},
		Scope:  "openid offline_access " + c.ID,
		Fields: authsvc.Fields{Name: "name|preferred_username", Email: "emails[0]", EmailVerified: never},
		Style:  authsvc.Style{Logo: "microsoft", Background: "#0072c6", Text: "#ffffff"},
	}, nil
}

func azureADB2C(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
	for _, key := range []string{"issuer", "tenant_id"} {
		if options[key] == "" {
			return nil, missing(key)
		}
	}
	o, err := AzureADB2C(c, options["issuer"], options["tenant_id"])
	if err != nil {
		return nil, err
	}
	return o, nil
}
