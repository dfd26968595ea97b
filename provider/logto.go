package provider

import "authsvc"

func logtoEntry() Entry {
	return Entry{
		ID: "logto", Name: "Logto", Protocol: "oidc", Email: EmailClaim,
		Docs:    "https://docs.logto.io/quick-starts/next-auth",
		Options: issuerOption("https://acme.logto.app/oidc"),
		New:     withIssuer(Logto),
	}
}

// Logto signs in with a Logto tenant. The issuer ends in /oidc. A refresh token also
// requires prompt=consent.
//
// https://docs.logto.io/quick-starts/next-auth
func Logto(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "logto", Name: "Logto", Client: c,
		OpenID: true,
		Issuer: withoutSlash(issuer),
		Scope:  "offline_access openid email profile",
		Fields: authsvc.Fields{Name: "name|username"},
		Style:  authsvc.Style{Background: "#5d34f2", Text: "#ffffff"},
	}
}
