package provider

import "authsvc"

// Vercel signs in with a Vercel account. Scopes that the app does not have are
// left out without a word.
//
// https://vercel.com/docs/sign-in-with-vercel/authorization-server-api
func Vercel(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "vercel", Name: "Vercel", Client: c,
		OpenID: true,
		Issuer: "https://vercel.com",
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Style: authsvc.Style{Background: "#000000", Text: "#ffffff"},
	}
}
