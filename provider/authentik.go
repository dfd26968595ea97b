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

// Authentik signs in with an authentik server. Each application has its own issuer,
// which ends in a slash; a missing slash is added. Addresses count as unverified, since
// the administrator controls them; to trust the flag, set Fields.EmailVerified to
// email_verified.
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
