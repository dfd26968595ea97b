package provider

import "authsvc"

// Spotify signs in with a Spotify account. Spotify says that it does not
// verify addresses.
//
// https://developer.spotify.com/documentation/web-api/tutorials/code-flow
func Spotify(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "spotify", Name: "Spotify", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://accounts.spotify.com/authorize",
			Token:         "https://accounts.spotify.com/api/token",
			UserInfo:      "https://api.spotify.com/v1/me",
		},
		Scope:  "user-read-email",
		Fields: authsvc.Fields{ID: "id", Name: "display_name|id", EmailVerified: never, Image: "images[0].url"},
		Style:  authsvc.Style{Background: "#000000", Text: "#ffffff"},
	}
}
