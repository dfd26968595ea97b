package provider

import "authsvc"

func notionEntry() Entry {
	return Entry{
		ID: "notion", Name: "Notion", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://developers.notion.com/docs/authorization",
		Notes: []string{
			"For the email address, the integration needs the capability to read user information with email addresses.",
		},
		New: plain(Notion),
	}
}

// Notion signs in with a Notion account through a public integration. The email
// address is provided only if the integration may read it. It is unverified.
//
// https://developers.notion.com/docs/authorization
func Notion(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "notion", Name: "Notion", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://api.notion.com/v1/oauth/authorize",
			Token:         "https://api.notion.com/v1/oauth/token",
			UserInfo:      "https://api.notion.com/v1/users/me",
			Revocation:    "https://api.notion.com/v1/oauth/revoke",
		},
		AuthorizationParams: map[string]string{"owner": "user"},
		UserInfo: authsvc.UserInfo{
			Headers: map[string]string{"Notion-Version": "2022-06-28"},
		},
		Fields: authsvc.Fields{
			ID:            "bot.owner.user.id",
			Name:          "bot.owner.user.name",
			Email:         "bot.owner.user.person.email",
			EmailVerified: never,
			Image:         "bot.owner.user.avatar_url",
		},
		Style: authsvc.Style{Logo: "notion", Background: "#ffffff", Text: "#000000"},
	}
}
