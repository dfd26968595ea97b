package provider

import "authsvc"

func fronteggEntry() Entry {
	return Entry{
		ID: "frontegg", Name: "Frontegg", Protocol: "oidc", Email: EmailClaim,
		Docs:    "https://docs.frontegg.com/",
		Options: issuerOption("https://acme.frontegg.com"),
		New:     withIssuer(Frontegg),
	}
}

// Frontegg signs in with a Frontegg environment. Its metadata is below /oauth.
// email_verified is set by Frontegg's own check.
//
// https://docs.frontegg.com/
func Frontegg(c authsvc.Client, issuer string) *authsvc.OAuth {
	issuer = withoutSlash(issuer)
	return &authsvc.OAuth{
		ID: "frontegg", Name: "Frontegg", Client: c,
		OpenID: true,
		Issuer: issuer,
		Endpoints: authsvc.Endpoints{
			Discovery: issuer + "/oauth/.well-known/openid-configuration",
		},
		Style: authsvc.Style{Background: "#43bb7a", Text: "#000000"},
	}
}
