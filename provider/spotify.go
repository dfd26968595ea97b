package provider

import "authsvc"

func spotifyEntry() Entry {
	return Entry{
		ID: "spotify", Name: "Spotify", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://developer.spotify.com/documentation/web-api/tutorials/code-flow",
		Notes: []string{
			"The redirect host for local work is 127.0.0.1, not localhost.",
			"While an app is in development mode, only listed people can sign in.",
		},
		New: plain(Spotify),
	}
}

// Spotify signs in with a Spotify account. Spotify says that it does not verify email
// addresses.
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
		Style:  authsvc.Style{Logo: "spotify", Background: "#000000", Text: "#ffffff"},
	}
}
