package provider

import "authsvc"

func duendeIdentityServer6Entry() Entry {
	return Entry{
		ID: "duende-identity-server6", Name: "Duende IdentityServer", Aliases: []string{"duende-identityserver6"}, Protocol: "oidc", Email: EmailIssuer,
		Docs:    "https://docs.duendesoftware.com/identityserver/",
		Options: issuerOption("https://id.example.com"),
		Notes: []string{
			noteVerifiedFlag,
		},
		New: withIssuer(DuendeIdentityServer6),
	}
}

// DuendeIdentityServer6 signs in with a server built with Duende IdentityServer 6 or
// later. Names and email addresses come from its userinfo endpoint. Addresses count as
// unverified, since the administrator controls them; to trust the flag, set
// Fields.EmailVerified to email_verified.
//
// https://docs.duendesoftware.com/identityserver/
func DuendeIdentityServer6(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "duende-identity-server6", Name: "Duende IdentityServer", Client: c,
		OpenID: true,
		Issuer: issuer,
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Background: "#2b3a67", Text: "#ffffff"},
	}
}
