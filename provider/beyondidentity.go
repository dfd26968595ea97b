package provider

import "authsvc"

func beyondIdentityEntry() Entry {
	return Entry{
		ID: "beyondidentity", Name: "Beyond Identity", Protocol: "oidc", Email: EmailIssuer,
		Docs:    "https://developer.beyondidentity.com/",
		Options: issuerOption("https://auth-us.beyondidentity.com/v1/tenants/0123/realms/4567/applications/89ab"),
		Notes: []string{
			noteVerifiedFlag,
		},
		New: withIssuer(BeyondIdentity),
	}
}

// BeyondIdentity signs in with an application of a Beyond Identity realm, which has its
// own issuer. Addresses count as unverified, since the administrator controls them; to
// trust the flag, set Fields.EmailVerified to email_verified.
//
// https://developer.beyondidentity.com/
func BeyondIdentity(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "beyondidentity", Name: "Beyond Identity", Client: c,
		OpenID: true,
		Issuer: withoutSlash(issuer),
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Background: "#5077c5", Text: "#000000"},
	}
}
