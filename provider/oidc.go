package provider

import "authsvc"

func oidcEntry() Entry {
	return Entry{
		ID: "oidc", Name: "Generic OpenID Connect", Button: "OpenID Connect", Protocol: "oidc", Email: EmailIssuer,
		Docs:    "https://openid.net/specs/openid-connect-core-1_0.html",
		Options: issuerOption("https://id.example.com"),
		Notes: []string{
			"In a configuration file, type: oidc does the same under any id.",
			"The administrator of the server controls the claim email_verified. To trust no address, set profile.email_verified: \"-\".",
		},
		New: withIssuer(OIDC),
	}
}

// OIDC signs in with any OpenID Connect provider that has a discovery document. The
// issuer is compared byte for byte. Addresses count as unverified, since the provider's
// operator controls them; to trust the flag, set Fields.EmailVerified to
// email_verified.
//
// https://openid.net/specs/openid-connect-core-1_0.html
func OIDC(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "oidc", Name: "OpenID Connect", Client: c,
		OpenID: true,
		Issuer: issuer,
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Logo: "openid", Background: "#f78c40", Text: "#000000"},
	}
}
