package provider

import "authsvc"

func traktEntry() Entry {
	return Entry{
		ID: "trakt", Name: "Trakt", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://trakt.docs.apiary.io/#reference/authentication-oauth",
		Notes: []string{
			"NextAuth.js identifies accounts by the slug; to keep such accounts, set profile.id to user.ids.slug. Such names can change hands.",
			"Other sites must not link to avatars.",
		},
		New: plain(Trakt),
	}
}

// Trakt signs in with a Trakt account. The id is the UUID of the account; NextAuth.js
// uses the slug, which follows the user name. Every call names the API version and the
// client. The profile has no email address.
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
		Style: authsvc.Style{Logo: "trakt", Background: "#ed2224", Text: "#000000"},
	}
}
