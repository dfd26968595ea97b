package provider

import (
	"strings"

	"authsvc"
)

func oneLoginEntry() Entry {
	return Entry{
		ID: "onelogin", Name: "OneLogin", Protocol: "oidc", Email: EmailIssuer,
		Docs:    "https://developers.onelogin.com/openid-connect",
		Options: issuerOption("https://acme.onelogin.com"),
		Notes: []string{
			noteTrustEmail,
		},
		New: withIssuer(OneLogin),
	}
}

// OneLogin signs in with a OneLogin account. issuer is the base URL of the subdomain;
// the issuer in ID tokens is below it. The company's administrator enters the email
// addresses; if you trust all of them, set TrustEmail.
//
// https://developers.onelogin.com/openid-connect
func OneLogin(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "onelogin", Name: "OneLogin", Client: c,
		OpenID: true,
		Issuer: strings.TrimSuffix(withoutSlash(issuer), "/oidc/2") + "/oidc/2",
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Background: "#1c1f2a", Text: "#ffffff"},
	}
}
