package provider

import "authsvc"

func threadsEntry() Entry {
	return Entry{
		ID: "threads", Name: "Threads", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://developers.facebook.com/docs/threads/get-started/get-access-tokens-and-permissions",
		Notes: []string{
			"Use the id and secret that the app has for Threads.",
		},
		New: plain(Threads),
	}
}

// Threads signs in with a Threads account. The app has a separate id and secret for
// Threads, besides its Meta ones. The profile has no email address.
//
// https://developers.facebook.com/docs/threads/get-started/get-access-tokens-and-permissions
func Threads(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "threads", Name: "Threads", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://threads.net/oauth/authorize",
			Token:         "https://graph.threads.net/oauth/access_token",
			UserInfo:      "https://graph.threads.net/v1.0/me?fields=id,username,name,threads_profile_picture_url",
		},
		Scope:      "threads_basic",
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "id", Name: "name|username", Email: never, Image: "threads_profile_picture_url"},
		Style:      authsvc.Style{Logo: "threads", Background: "#000000", Text: "#ffffff"},
	}
}
