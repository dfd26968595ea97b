package provider

import "authsvc"

func clickUpEntry() Entry {
	return Entry{
		ID: "click-up", Name: "ClickUp", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://developer.clickup.com/docs/authentication",
		New:  plain(ClickUp),
	}
}

// ClickUp signs in with a ClickUp account. There are no scopes: the person picks the
// workspaces. The email address is unverified.
//
// https://developer.clickup.com/docs/authentication
func ClickUp(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "click-up", Name: "ClickUp", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://app.clickup.com/api",
			Token:         "https://api.clickup.com/api/v2/oauth/token",
			UserInfo:      "https://api.clickup.com/api/v2/user",
		},
		AuthMethod: "client_secret_post",
		Fields: authsvc.Fields{
			ID:            "user.id",
			Name:          "user.username",
			Email:         "user.email",
			EmailVerified: never,
			Image:         "user.profilePicture",
		},
		Style: authsvc.Style{Logo: "clickup", Background: "#24292f", Text: "#ffffff"},
	}
}
