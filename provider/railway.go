package provider

import "authsvc"

func railwayEntry() Entry {
	return Entry{
		ID: "railway", Name: "Railway", Protocol: "oidc", Email: EmailUnverified,
		Docs: "https://docs.railway.com/integrations/oauth/login-and-tokens",
		New:  plain(Railway),
	}
}

// Railway signs in with a Railway account. The email address is unverified.
//
// https://docs.railway.com/integrations/oauth/login-and-tokens
func Railway(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "railway", Name: "Railway", Client: c,
		OpenID: true,
		Issuer: "https://backboard.railway.com",
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Logo: "railway", Background: "#0b0d0e", Text: "#ffffff"},
	}
}
