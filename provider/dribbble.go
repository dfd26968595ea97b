package provider

import "authsvc"

func dribbbleEntry() Entry {
	return Entry{
		ID: "dribbble", Name: "Dribbble", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://developer.dribbble.com/v2/oauth/",
		New:  plain(Dribbble),
	}
}

// Dribbble signs in with a Dribbble account. The profile has no email address.
//
// https://developer.dribbble.com/v2/oauth/
func Dribbble(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "dribbble", Name: "Dribbble", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://dribbble.com/oauth/authorize",
			Token:         "https://dribbble.com/oauth/token",
			UserInfo:      "https://api.dribbble.com/v2/user",
		},
		Scope:      "public",
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "id", Name: "name|login", Email: never, Image: "avatar_url"},
		Style:      authsvc.Style{Logo: "dribbble", Background: "#000000", Text: "#ffffff"},
	}
}
