package provider

import (
	"cmp"

	"authsvc"
)

func descopeEntry() Entry {
	return Entry{
		ID: "descope", Name: "Descope", Protocol: "oidc", Email: EmailClaim,
		Docs: "https://docs.descope.com/getting-started/oidc-endpoints",
		Options: []Option{
			{Key: "issuer", Doc: "the issuer of a custom domain", Example: "https://api.descope.com/P2abc"},
		},
		New: withDefault("issuer", Descope),
	}
}

// Descope signs in with a project of Descope. The client id is that of the
// project and the secret an access key; the issuer follows from the project
// unless it is given, as for a custom domain.
//
// https://docs.descope.com/getting-started/oidc-endpoints
func Descope(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "descope", Name: "Descope", Client: c,
		OpenID: true,
		Issuer: cmp.Or(withoutSlash(issuer), "https://api.descope.com/"+c.ID),
		Style:  authsvc.Style{Background: "#1c1c23", Text: "#ffffff"},
	}
}
