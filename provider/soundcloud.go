package provider

import "authsvc"

func soundCloudEntry() Entry {
	return Entry{
		ID: "soundcloud", Name: "SoundCloud", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://developers.soundcloud.com/docs/api/guide",
		New:  plain(SoundCloud),
	}
}

// SoundCloud signs in with a SoundCloud account. The profile has no email address.
//
// https://developers.soundcloud.com/docs/api/guide
func SoundCloud(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "soundcloud", Name: "SoundCloud", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://secure.soundcloud.com/authorize",
			Token:         "https://secure.soundcloud.com/oauth/token",
			UserInfo:      "https://api.soundcloud.com/me",
		},
		AuthMethod: "client_secret_post",
		UserInfo: authsvc.UserInfo{
			Auth: "header:Authorization OAuth",
		},
		Fields: authsvc.Fields{ID: "id", Name: "full_name|username", Email: never, Image: "avatar_url"},
		Style:  authsvc.Style{Logo: "soundcloud", Background: "#ff5500", Text: "#000000"},
	}
}
