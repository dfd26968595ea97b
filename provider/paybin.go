package provider

import "authsvc"

func paybinEntry() Entry {
	return Entry{
		ID: "paybin", Name: "Paybin", Protocol: "oidc", Email: EmailClaim,
		Docs: "https://paybin.io/",
		Notes: []string{
			"This provider has little documentation; try it before you rely on it.",
		},
		New: plain(Paybin),
	}
}

// Paybin signs in with a Paybin account through OpenID Connect. Its metadata is not
// documented and is expected below the issuer.
//
// https://paybin.io/
func Paybin(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "paybin", Name: "Paybin", Client: c,
		OpenID: true,
		Issuer: "https://idp.paybin.io",
		Endpoints: authsvc.Endpoints{
			Authorization: "https://idp.paybin.io/oauth2/authorize",
			Token:         "https://idp.paybin.io/oauth2/token",
		},
		Style: authsvc.Style{Background: "#1f2937", Text: "#ffffff"},
	}
}
