package provider

import "authsvc"

func kickEntry() Entry {
	return Entry{
		ID: "kick", Name: "Kick", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://docs.kick.com/getting-started/generating-tokens-oauth2-flow",
		New:  plain(Kick),
	}
}

// Kick signs in with a Kick account. The email address is unverified.
//
// https://docs.kick.com/getting-started/generating-tokens-oauth2-flow
func Kick(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "kick", Name: "Kick", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://id.kick.com/oauth/authorize",
			Token:         "https://id.kick.com/oauth/token",
			UserInfo:      "https://api.kick.com/public/v1/users",
			Revocation:    "https://id.kick.com/oauth/revoke",
		},
		Scope:      "user:read",
		AuthMethod: "client_secret_post",
		Fields: authsvc.Fields{
			ID:            "data[0].user_id",
			Name:          "data[0].name",
			Email:         "data[0].email",
			EmailVerified: never,
			Image:         "data[0].profile_picture",
		},
		Style: authsvc.Style{Logo: "kick", Background: "#53fc18", Text: "#000000"},
	}
}
