package provider

import "authsvc"

// Trakt signs in with a Trakt account. The id is the UUID of the account;
// NextAuth.js keys accounts by the slug, which follows the user name. Every
// call names the version of the API and the client. There is no address.
//
// https://trakt.docs.apiary.io/#reference/authentication-oauth
func Trakt(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "trakt", Name: "Trakt", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://trakt.tv/oauth/authorize",
			Token:         "https://api.trakt.tv/oauth/token",
			UserInfo:      "https://api.trakt.tv/users/settings",
			Revocation:    "https://api.trakt.tv/oauth/revoke",
		},
		AuthMethod: "client_secret_post",
		UserInfo: authsvc.UserInfo{
			Headers: map[string]string{"trakt-api-version": "2", "trakt-api-key": "{client_id}"},
		},
		Fields: authsvc.Fields{
			ID:    "user.ids.uuid",
			Name:  "user.name|user.username",
			Email: never,
			Image: "user.images.avatar.full",
		},
		Style: authsvc.Style{Background: "#ed2224", Text: "#000000"},
	}
}
