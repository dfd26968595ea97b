package provider

import "authsvc"

func yahooEntry() Entry {
	return Entry{
		ID: "yahoo", Name: "Yahoo", Protocol: "oidc", Email: EmailClaim,
		Docs: "https://developer.yahoo.com/sign-in-with-yahoo/",
		Notes: []string{
			"The redirect URI must be https.",
		},
		New: plain(Yahoo),
	}
}

// Yahoo signs in with a Yahoo account through OpenID Connect. Its ID tokens are signed
// with ES256.
//
// https://developer.yahoo.com/sign-in-with-yahoo/
func Yahoo(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "yahoo", Name: "Yahoo", Client: c,
		OpenID: true,
		Issuer: "https://api.login.yahoo.com",
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Style: authsvc.Style{Background: "#6001d2", Text: "#ffffff"},
	}
}
