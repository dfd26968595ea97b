package provider

import "authsvc"

func asgardeoEntry() Entry {
	return Entry{
		ID: "asgardeo", Name: "Asgardeo", Protocol: "oidc", Email: EmailIssuer,
		Docs:    "https://wso2.com/asgardeo/docs/guides/authentication/oidc/discover-oidc-configs/",
		Options: issuerOption("https://api.asgardeo.io/t/acme"),
		Notes: []string{
			"The issuer option is the base of the tenant, https://api.asgardeo.io/t/TENANT.",
			noteVerifiedFlag,
		},
		New: withIssuer(Asgardeo),
	}
}

// Asgardeo signs in with a tenant of WSO2's Asgardeo. issuer is the base URL of the
// tenant; the issuer in ID tokens is below it. Addresses count as unverified, since the
// administrator controls them; to trust the flag, set Fields.EmailVerified to
// email_verified.
//
// https://wso2.com/asgardeo/docs/guides/authentication/oidc/discover-oidc-configs/
func Asgardeo(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "asgardeo", Name: "Asgardeo", Client: c,
		OpenID: true,
		Issuer: withoutSlash(issuer) + "/oauth2/token",
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Background: "#000000", Text: "#ffffff"},
	}
}
