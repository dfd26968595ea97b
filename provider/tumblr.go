package provider

import "authsvc"

func tumblrEntry() Entry {
	return Entry{
		ID: "tumblr", Name: "Tumblr", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://www.tumblr.com/docs/en/api/v2",
		New:  plain(Tumblr),
	}
}

// Tumblr signs in with a Tumblr account. The id is the UUID of the primary blog, since
// a user name can pass to another person. The profile has no email address.
//
// https://www.tumblr.com/docs/en/api/v2
func Tumblr(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "tumblr", Name: "Tumblr", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.tumblr.com/oauth2/authorize",
			Token:         "https://api.tumblr.com/v2/oauth2/token",
			UserInfo:      "https://api.tumblr.com/v2/user/info",
		},
		Scope: "basic",
		Fields: authsvc.Fields{
			ID:    "response.user.blogs[primary=true].uuid",
			Name:  "response.user.name",
			Email: never,
			Image: "response.user.blogs[primary=true].avatar[0].url",
		},
		Style: authsvc.Style{Logo: "tumblr", Background: "#36465d", Text: "#ffffff"},
	}
}
