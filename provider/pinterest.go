package provider

import "authsvc"

func pinterestEntry() Entry {
	return Entry{
		ID: "pinterest", Name: "Pinterest", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://developers.pinterest.com/docs/getting-started/set-up-authentication-and-authorization/",
		Notes: []string{
			"NextAuth.js identifies accounts by the user name; to keep such accounts, set profile.id to username. Such names can change hands.",
		},
		New: plain(Pinterest),
	}
}

// Pinterest signs in with a Pinterest account. The id is the number of the account;
// NextAuth.js uses the user name, which can pass to another person. The profile has no
// email address.
//
// https://developers.pinterest.com/docs/getting-started/set-up-authentication-and-authorization/
func Pinterest(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "pinterest", Name: "Pinterest", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.pinterest.com/oauth",
			Token:         "https://api.pinterest.com/v5/oauth/token",
			UserInfo:      "https://api.pinterest.com/v5/user_account",
		},
		Scope:  "user_accounts:read",
		Fields: authsvc.Fields{ID: "id", Name: "username", Email: never, Image: "profile_image"},
		Style:  authsvc.Style{Logo: "pinterest", Background: "#bd081c", Text: "#ffffff"},
	}
}
