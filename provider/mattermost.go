package provider

import "authsvc"

// Mattermost signs in with a Mattermost server. Its administrator decides what
// an address is worth: to believe the flag, set Fields.EmailVerified to
// email_verified.
//
// https://developers.mattermost.com/integrate/apps/authentication/oauth2/
func Mattermost(c authsvc.Client, issuer string) *authsvc.OAuth {
	base := server(issuer)
	return &authsvc.OAuth{
		ID: "mattermost", Name: "Mattermost", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: base + "/oauth/authorize",
			Token:         base + "/oauth/access_token",
			UserInfo:      base + "/api/v4/users/me",
		},
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "id", Name: "username|{first_name} {last_name}", EmailVerified: never},
		Style:      authsvc.Style{Background: "#000000", Text: "#ffffff"},
	}
}
