package provider

import "authsvc"

// Okta signs in with an Okta organization, https://HOST, or with one of its
// authorization servers, https://HOST/oauth2/ID. Its administrator decides
// what an address is worth: to believe the flag, set Fields.EmailVerified to
// email_verified.
//
// https://developer.okta.com/docs/api/openapi/okta-oauth/guides/overview/
func Okta(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "okta", Name: "Okta", Client: c,
		OpenID: true,
		Issuer: server(issuer),
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Background: "#000000", Text: "#ffffff"},
	}
}
