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

// Descope signs in with a Descope project. The client id is the project id, and the
// secret is an access key. If issuer is empty, it follows from the project; set it for
// a custom domain.
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
