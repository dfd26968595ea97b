package provider

import "authsvc"

func todoistEntry() Entry {
	return Entry{
		ID: "todoist", Name: "Todoist", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://developer.todoist.com/api/v1/",
		New:  plain(Todoist),
	}
}

// Todoist signs in with a Todoist account through the API v1. The email address is
// unverified.
//
// https://developer.todoist.com/api/v1/
func Todoist(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "todoist", Name: "Todoist", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://todoist.com/oauth/authorize",
			Token:         "https://todoist.com/oauth/access_token",
			UserInfo:      "https://api.todoist.com/api/v1/user",
		},
		Scope:      "data:read",
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "id", Name: "full_name", EmailVerified: never, Image: "avatar_big"},
		Style:      authsvc.Style{Logo: "todoist", Background: "#e44332", Text: "#000000"},
	}
}
