package provider

import "authsvc"

func boxEntry() Entry {
	return Entry{
		ID: "box", Name: "Box", Protocol: "oauth2", Email: EmailImplied,
		Docs: "https://developer.box.com/guides/authentication/oauth2/",
		New:  plain(Box),
	}
}

// Box signs in with a Box account. The email address is the login, which Box has
// verified. Inactive and restricted accounts are refused.
//
// https://developer.box.com/guides/authentication/oauth2/
func Box(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "box", Name: "Box", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://account.box.com/api/oauth2/authorize",
			Token:         "https://api.box.com/oauth2/token",
			UserInfo:      "https://api.box.com/2.0/users/me",
			Revocation:    "https://api.box.com/oauth2/revoke",
		},
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "id", Name: "name", Email: "login", Image: "avatar_url"},
		TrustEmail: true,
		Hooks: authsvc.Hooks{
			UserInfo: activeUser("box", "status", "active"),
		},
		Style: authsvc.Style{Logo: "box", Background: "#0075c9", Text: "#ffffff"},
	}
}
