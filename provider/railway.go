package provider

import "authsvc"

// Railway signs in with an account of Railway. Nothing vouches for the
// address.
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
		Style:  authsvc.Style{Background: "#0b0d0e", Text: "#ffffff"},
	}
}
