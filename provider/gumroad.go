package provider

import "authsvc"

func gumroadEntry() Entry {
	return Entry{
		ID: "gumroad", Name: "Gumroad", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://gumroad.com/api",
		New:  plain(Gumroad),
	}
}

// Gumroad signs in with a Gumroad account. The email address is unverified.
//
// https://gumroad.com/api
func Gumroad(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "gumroad", Name: "Gumroad", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://gumroad.com/oauth/authorize",
			Token:         "https://api.gumroad.com/oauth/token",
			UserInfo:      "https://api.gumroad.com/v2/user",
		},
		Scope: "view_profile",
		Fields: authsvc.Fields{
			ID:            "user.user_id",
			Name:          "user.name",
			Email:         "user.email",
			EmailVerified: never,
			Image:         "user.profile_url",
		},
		Style: authsvc.Style{Logo: "gumroad", Background: "#ff90e8", Text: "#000000"},
	}
}
