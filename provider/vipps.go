package provider

import (
	"cmp"

	"authsvc"
)

func vippsEntry() Entry {
	return Entry{
		ID: "vipps", Name: "Vipps MobilePay", Protocol: "oidc", Email: EmailClaim,
		Docs: "https://developer.vippsmobilepay.com/docs/APIs/login-api/",
		Options: []Option{
			{Key: "issuer", Doc: "the issuer, such as https://apitest.vipps.no/access-management-1.0/access/", Example: "https://apitest.vipps.no/access-management-1.0/access/"},
		},
		New: withDefault("issuer", Vipps),
	}
}

// Vipps signs in with a Vipps MobilePay account. Names and email addresses come from
// its userinfo endpoint. If issuer is empty, it is the production issuer. For the test
// environment, it is https://apitest.vipps.no/access-management-1.0/access/.
//
// https://developer.vippsmobilepay.com/docs/APIs/login-api/
func Vipps(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "vipps", Name: "Vipps MobilePay", Client: c,
		OpenID: true,
		Issuer: cmp.Or(issuer, "https://api.vipps.no/access-management-1.0/access/"),
		Scope:  "openid name email",
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Style: authsvc.Style{Background: "#f05c18", Text: "#000000"},
	}
}
