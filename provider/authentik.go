package provider

import "authsvc"

func authentikEntry() Entry {
	return Entry{
		ID: "authentik", Name: "authentik", Protocol: "oidc", Email: EmailIssuer,
		Docs:    "https://docs.goauthentik.io/add-secure-apps/providers/oauth2/",
		Options: issuerOption("https://id.example.com/application/o/acme/"),
		Notes: []string{
			noteVerifiedFlag,
		},
		New: withIssuer(Authentik),
	}
}

// Authentik signs in with a server of authentik. Each application has an
// issuer, which ends in a slash; the slash is added if it is missing. Its
// administrator decides what an address is worth: to trust the flag, set
// Fields.EmailVerified to email_verified.
//
// https://docs.goauthentik.io/add-secure-apps/providers/oauth2/
func Authentik(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "authentik", Name: "authentik", Client: c,
		OpenID: true,
		Issuer: withoutSlash(issuer) + "/",
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Logo: "authentik", Background: "#fd4b2d", Text: "#000000"},
	}
}
