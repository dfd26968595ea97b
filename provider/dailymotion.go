package provider

import "authsvc"

func dailymotionEntry() Entry {
	return Entry{
		ID: "dailymotion", Name: "Dailymotion", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://developers.dailymotion.com/",
		New:  plain(Dailymotion),
	}
}

// Dailymotion signs in with a Dailymotion account. The access token is sent in the
// query. The profile contains only the requested fields. The email address is
// unverified.
//
// https://developers.dailymotion.com/
func Dailymotion(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "dailymotion", Name: "Dailymotion", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.dailymotion.com/oauth/authorize",
			Token:         "https://www.dailymotion.com/oauth/token",
			UserInfo:      "https://api.dailymotion.com/me?fields=id,fullname,username,email,avatar_720_url",
		},
		Scope: "email",
		UserInfo: authsvc.UserInfo{
			Auth: "query:access_token",
		},
		Fields: authsvc.Fields{ID: "id", Name: "fullname|username", EmailVerified: never, Image: "avatar_720_url"},
		Style:  authsvc.Style{Background: "#0066dc", Text: "#ffffff"},
	}
}
