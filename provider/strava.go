package provider

import "authsvc"

func stravaEntry() Entry {
	return Entry{
		ID: "strava", Name: "Strava", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://developers.strava.com/docs/authentication/",
		New:  plain(Strava),
	}
}

// Strava signs in athletes with a Strava account. The profile has no email address.
//
// https://developers.strava.com/docs/authentication/
func Strava(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "strava", Name: "Strava", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.strava.com/oauth/authorize",
			Token:         "https://www.strava.com/oauth/token",
			UserInfo:      "https://www.strava.com/api/v3/athlete",
		},
		Scope:               "read",
		AuthorizationParams: map[string]string{"approval_prompt": "auto"},
		AuthMethod:          "client_secret_post",
		Fields:              authsvc.Fields{ID: "id", Name: "{firstname} {lastname}|username", Email: never, Image: "profile"},
		Style:               authsvc.Style{Logo: "strava", Background: "#fc4c02", Text: "#000000"},
	}
}
