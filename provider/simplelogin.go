package provider

import "authsvc"

func simpleLoginEntry() Entry {
	return Entry{
		ID: "simplelogin", Name: "SimpleLogin", Protocol: "oidc", Email: EmailClaim,
		Docs: "https://simplelogin.io/docs/siwsl/intro/",
		New:  plain(SimpleLogin),
	}
}

// SimpleLogin signs in with a SimpleLogin account. The email address may be an alias
// that the person created for this site.
//
// https://simplelogin.io/docs/siwsl/intro/
func SimpleLogin(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "simplelogin", Name: "SimpleLogin", Client: c,
		OpenID: true,
		Issuer: "https://app.simplelogin.io",
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Fields: authsvc.Fields{Image: "avatar_url"},
		Style:  authsvc.Style{Logo: "simplelogin", Background: "#e3156a", Text: "#ffffff"},
	}
}
