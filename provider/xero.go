package provider

import "authsvc"

func xeroEntry() Entry {
	return Entry{
		ID: "xero", Name: "Xero", Protocol: "oidc", Email: EmailUnverified,
		Docs: "https://developer.xero.com/documentation/oauth2/sign-in",
		New:  plain(Xero),
	}
}

// Xero signs in with a Xero account. Xero says that it verifies email addresses, but
// its tokens have no claim about it.
//
// https://developer.xero.com/documentation/oauth2/sign-in
func Xero(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "xero", Name: "Xero", Client: c,
		OpenID: true,
		Issuer: "https://identity.xero.com",
		Fields: authsvc.Fields{ID: "xero_userid", Name: "name|{given_name} {family_name}", EmailVerified: never},
		Style:  authsvc.Style{Logo: "xero", Background: "#13b5ea", Text: "#000000"},
	}
}
