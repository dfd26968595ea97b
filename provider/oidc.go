package provider

import "authsvc"

// OIDC signs in with any provider of OpenID Connect that has a discovery
// document. The issuer is compared byte for byte. Whoever runs the provider
// decides what an address is worth: to believe the flag, set
// Fields.EmailVerified to email_verified.
//
// https://openid.net/specs/openid-connect-core-1_0.html
func OIDC(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "oidc", Name: "Generic OpenID Connect", Client: c,
		OpenID: true,
		Issuer: issuer,
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Background: "#f78c40", Text: "#000000"},
	}
}
