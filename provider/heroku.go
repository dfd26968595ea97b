package provider

import "authsvc"

// Heroku signs in with a Heroku account. The member verified of its profile is
// about billing, so nothing vouches for the address.
//
// https://devcenter.heroku.com/articles/oauth
func Heroku(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "heroku", Name: "Heroku", Client: c,
		AuthorizationURL: "https://id.heroku.com/oauth/authorize",
		TokenURL:         "https://id.heroku.com/oauth/token",
		UserInfoURL:      "https://api.heroku.com/account",
		Scope:            "identity",
		AuthMethod:       "client_secret_post",
		UserInfoHeaders:  map[string]string{"Accept": "application/vnd.heroku+json; version=3"},
		Fields:           authsvc.Fields{ID: "id", Name: "name|email", EmailVerified: never},
		Style:            authsvc.Style{Background: "#430098", Text: "#ffffff"},
	}
}
