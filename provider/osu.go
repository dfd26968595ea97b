package provider

import "authsvc"

func osuEntry() Entry {
	return Entry{
		ID: "osu", Name: "osu!", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://osu.ppy.sh/docs/index.html#authentication",
		New:  plain(Osu),
	}
}

// Osu signs in players with an osu! account. The profile has no email address.
//
// https://osu.ppy.sh/docs/index.html#authentication
func Osu(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "osu", Name: "osu!", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://osu.ppy.sh/oauth/authorize",
			Token:         "https://osu.ppy.sh/oauth/token",
			UserInfo:      "https://osu.ppy.sh/api/v2/me",
		},
		Scope:      "identify",
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "id", Name: "username", Email: never, Image: "avatar_url"},
		Style:      authsvc.Style{Background: "#ff66aa", Text: "#000000"},
	}
}
