package provider

import "authsvc"

func bankIDNorgeEntry() Entry {
	return Entry{
		ID: "bankid-no", Name: "BankID Norge", Protocol: "oidc", Email: EmailUnverified,
		Docs: "https://developer.bankid.no/",
		Notes: []string{
			"For tests, set the issuer to the issuer of the test environment.",
			"The email address requires the scope email, and the national identity number the scope nnin_altsub, if your agreement includes them.",
		},
		New: plain(BankIDNorge),
	}
}

// BankIDNorge signs in with the Norwegian BankID. The profile is a signed response of
// the userinfo endpoint. The authorization parameter login_hint selects the kind of
// BankID: BIS, BID or BIM. Most people have no email address there; if there is one,
// it is unverified.
//
// https://developer.bankid.no/
func BankIDNorge(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "bankid-no", Name: "BankID Norge", Client: c,
		OpenID:              true,
		Issuer:              "https://auth.bankid.no/auth/realms/prod",
		Scope:               "openid profile",
		AuthorizationParams: map[string]string{"ui_locales": "no", "login_hint": "BIS"},
		AuthMethod:          "client_secret_post",
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Background: "#39134c", Text: "#ffffff"},
	}
}
