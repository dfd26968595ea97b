package provider

import (
	"cmp"

	"authsvc"
)

// Descope signs in with a project of Descope. The client id is that of the
// project and the secret an access key; the issuer follows from the project
// unless it is given, as for a custom domain.
//
// https://docs.descope.com/getting-started/oidc-endpoints
func Descope(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "descope", Name: "Descope", Client: c,
		OpenID: true,
		Issuer: cmp.Or(server(issuer), "https://api.descope.com/"+c.ID),
		Style:  authsvc.Style{Background: "#1c1c23", Text: "#ffffff"},
	}
}
