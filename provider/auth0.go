package provider

import "authsvc"

func auth0Entry() Entry {
	return Entry{
		ID: "auth0", Name: "Auth0", Protocol: "oidc", Email: EmailClaim,
		Docs:    "https://auth0.com/docs/api/authentication",
		Options: issuerOption("https://acme.eu.auth0.com/"),
		Notes: []string{
			"The claim email_verified is as reliable as the connections of the tenant.",
		},
		New: withIssuer(Auth0),
	}
}

// Auth0 signs in with an Auth0 tenant. The issuer ends in a slash, which is added if
// missing. The tenant's connections decide what email_verified means.
//
// https://auth0.com/docs/api/authentication
func Auth0(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "auth0", Name: "Auth0", Client: c,
		OpenID: true,
		Issuer: withoutSlash(issuer) + "/",
		Style:  authsvc.Style{Logo: "auth0", Background: "#eb5424", Text: "#000000"},
	}
}
