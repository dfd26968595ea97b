package provider

import "authsvc"

func vercelEntry() Entry {
	return Entry{
		ID: "vercel", Name: "Vercel", Protocol: "oidc", Email: EmailClaim,
		Docs: "https://vercel.com/docs/sign-in-with-vercel/authorization-server-api",
		New:  plain(Vercel),
	}
}

// Vercel signs in with a Vercel account. Vercel silently drops scopes that the app does
// not have.
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
		Style: authsvc.Style{Logo: "vercel", Background: "#000000", Text: "#ffffff"},
	}
}
