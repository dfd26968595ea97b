package provider

import "authsvc"

func flyEntry() Entry {
	return Entry{
		ID: "fly", Name: "Fly.io", Protocol: "oauth2", Email: EmailImplied,
		Docs: "https://fly.io/docs/",
		New:  plain(Fly),
	}
}

// Fly signs in with a Fly.io account, for extensions and partners. The profile is
// Fly.io's information about the access token. Its email addresses are verified.
//
// https://fly.io/docs/
func Fly(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "fly", Name: "Fly.io", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://api.fly.io/oauth/authorize",
			Token:         "https://api.fly.io/oauth/token",
			UserInfo:      "https://api.fly.io/oauth/token/info",
		},
		Scope:      "read",
		Fields:     authsvc.Fields{ID: "user_id|resource_owner_id", Name: "user_name"},
		TrustEmail: true,
		Style:      authsvc.Style{Logo: "flyio", Background: "#8b5cf6", Text: "#000000"},
	}
}
