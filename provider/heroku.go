package provider

import "authsvc"

func herokuEntry() Entry {
	return Entry{
		ID: "heroku", Name: "Heroku", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://devcenter.heroku.com/articles/oauth",
		New:  plain(Heroku),
	}
}

// Heroku signs in with a Heroku account. The profile's field verified is about billing,
// so the email address is unverified.
//
// https://devcenter.heroku.com/articles/oauth
func Heroku(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "heroku", Name: "Heroku", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://id.heroku.com/oauth/authorize",
			Token:         "https://id.heroku.com/oauth/token",
			UserInfo:      "https://api.heroku.com/account",
		},
		Scope:      "identity",
		AuthMethod: "client_secret_post",
		UserInfo: authsvc.UserInfo{
			Headers: map[string]string{"Accept": "application/vnd.heroku+json; version=3"},
		},
		Fields: authsvc.Fields{ID: "id", Name: "name|email", EmailVerified: never},
		Style:  authsvc.Style{Background: "#430098", Text: "#ffffff"},
	}
}
