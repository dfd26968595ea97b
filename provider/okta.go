package provider

import "authsvc"

func oktaEntry() Entry {
	return Entry{
		ID: "okta", Name: "Okta", Protocol: "oidc", Email: EmailIssuer,
		Docs:    "https://developer.okta.com/docs/api/openapi/okta-oauth/guides/overview/",
		Options: issuerOption("https://acme.okta.com/oauth2/default"),
		Notes: []string{
			noteVerifiedFlag,
		},
		New: withIssuer(Okta),
	}
}

// Okta signs in with an Okta organization, https://HOST, or one of its authorization
// servers, https://HOST/oauth2/ID. Addresses count as unverified, since the
// administrator controls them; to trust the flag, set Fields.EmailVerified to
// email_verified.
//
// https://developer.okta.com/docs/api/openapi/okta-oauth/guides/overview/
func Okta(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "okta", Name: "Okta", Client: c,
		OpenID: true,
		Issuer: withoutSlash(issuer),
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Logo: "okta", Background: "#000000", Text: "#ffffff"},
	}
}
