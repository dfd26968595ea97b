package provider

import "authsvc"

func kindeEntry() Entry {
	return Entry{
		ID: "kinde", Name: "Kinde", Protocol: "oidc", Email: EmailClaim,
		Docs:    "https://docs.kinde.com/developer-tools/about/using-kinde-without-an-sdk/",
		Options: issuerOption("https://acme.kinde.com"),
		New:     withIssuer(Kinde),
	}
}

// Kinde signs in with a Kinde environment.
//
// https://docs.kinde.com/developer-tools/about/using-kinde-without-an-sdk/
func Kinde(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "kinde", Name: "Kinde", Client: c,
		OpenID: true,
		Issuer: withoutSlash(issuer),
		Fields: authsvc.Fields{Name: "name|{given_name} {family_name}"},
		Style:  authsvc.Style{Background: "#ffffff", Text: "#0f0f0f"},
	}
}
