package provider

import "authsvc"

func zitadelEntry() Entry {
	return Entry{
		ID: "zitadel", Name: "ZITADEL", Protocol: "oidc", Email: EmailClaim,
		Docs:    "https://zitadel.com/docs/apis/openidoauth/endpoints",
		Options: issuerOption("https://acme.zitadel.cloud"),
		New:     withIssuer(Zitadel),
	}
}

// Zitadel signs in with a ZITADEL instance. Names and email addresses come from its
// userinfo endpoint. For an application without a secret, set AuthMethod to none.
//
// https://zitadel.com/docs/apis/openidoauth/endpoints
func Zitadel(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "zitadel", Name: "ZITADEL", Client: c,
		OpenID: true,
		Issuer: withoutSlash(issuer),
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Style: authsvc.Style{Background: "#1d2025", Text: "#ffffff"},
	}
}
