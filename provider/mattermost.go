package provider

import "authsvc"

func mattermostEntry() Entry {
	return Entry{
		ID: "mattermost", Name: "Mattermost", Protocol: "oauth2", Email: EmailIssuer,
		Docs:    "https://developers.mattermost.com/integrate/apps/authentication/oauth2/",
		Options: issuerOption("https://chat.example.com"),
		Notes: []string{
			noteVerifiedFlag,
		},
		New: withIssuer(Mattermost),
	}
}

// Mattermost signs in with a Mattermost server. Addresses count as unverified, since
// the administrator controls them; to trust the flag, set Fields.EmailVerified to
// email_verified.
//
// https://developers.mattermost.com/integrate/apps/authentication/oauth2/
func Mattermost(c authsvc.Client, issuer string) *authsvc.OAuth {
	base := withoutSlash(issuer)
	return &authsvc.OAuth{
		ID: "mattermost", Name: "Mattermost", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: base + "/oauth/authorize",
			Token:         base + "/oauth/access_token",
			UserInfo:      base + "/api/v4/users/me",
		},
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "id", Name: "username|{first_name} {last_name}", EmailVerified: never},
		Style:      authsvc.Style{Logo: "mattermost", Background: "#000000", Text: "#ffffff"},
	}
}
