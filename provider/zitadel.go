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

// Zitadel signs in with an instance of ZITADEL. Names and addresses are asked
// for at its userinfo endpoint. An application without a secret takes
// AuthMethod none.
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
