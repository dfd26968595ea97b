package provider

import (
	"net/url"

	"authsvc"
)

func fusionAuthEntry() Entry {
	return Entry{
		ID: "fusionauth", Name: "FusionAuth", Protocol: "oidc", Email: EmailIssuer,
		Docs: "https://fusionauth.io/docs/lifecycle/authenticate-users/oauth/endpoints",
		Options: []Option{
			{Key: "issuer", Doc: "the issuer, such as https://id.example.com", Example: "https://id.example.com", Required: true},
			{Key: "tenant_id", Doc: "the id of the tenant, if there are several", Example: "30663132-6464-6665-3032-326466613934"},
		},
		Notes: []string{
			noteVerifiedFlag,
		},
		New: fusionAuth,
	}
}

// FusionAuth signs in with a FusionAuth server. issuer is the value that its tenant is
// configured to put into tokens. The metadata must be below it; otherwise set
// Endpoints.Discovery. If the server has several tenants, tenantID selects one.
// Addresses count as unverified, since the administrator controls them; to trust the
// flag, set Fields.EmailVerified to email_verified.
//
// https://fusionauth.io/docs/lifecycle/authenticate-users/oauth/endpoints
func FusionAuth(c authsvc.Client, issuer, tenantID string) *authsvc.OAuth {
	o := &authsvc.OAuth{
		ID: "fusionauth", Name: "FusionAuth", Client: c,
		OpenID: true,
		Issuer: issuer,
		Scope:  "openid offline_access email profile",
		Fields: authsvc.Fields{Name: "name|preferred_username|{given_name} {middle_name} {family_name}", EmailVerified: never},
		Style:  authsvc.Style{Logo: "fusionauth", Background: "#f58320", Text: "#000000"},
	}
	if tenantID != "" {
		o.AuthorizationParams = map[string]string{"tenantId": tenantID}
		o.Endpoints.Discovery = withoutSlash(issuer) + "/.well-known/openid-configuration?" + url.Values{"tenantId": {tenantID}}.Encode()
	}
	return o
}

func fusionAuth(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
	if options["issuer"] == "" {
		return nil, missing("issuer")
	}
	return FusionAuth(c, options["issuer"], options["tenant_id"]), nil
}
