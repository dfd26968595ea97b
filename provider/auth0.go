package provider

import "authsvc"

// Auth0 signs in with a tenant of Auth0. The issuer ends in a slash, which is
// added if it is missing. The tenant's connections decide what email_verified
// means.
//
// https://auth0.com/docs/api/authentication
func Auth0(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "auth0", Name: "Auth0", Client: c,
		OpenID: true,
		Issuer: server(issuer) + "/",
		Style:  authsvc.Style{Background: "#eb5424", Text: "#000000"},
	}
}
