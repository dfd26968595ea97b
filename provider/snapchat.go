package provider

import "authsvc"

func snapchatEntry() Entry {
	return Entry{
		ID: "snapchat", Name: "Snapchat", Protocol: "oauth2", Email: EmailImplied,
		Docs: "https://developers.snap.com/snap-kit/login-kit/overview",
		New:  plain(Snapchat),
	}
}

// Snapchat signs in with a Snapchat account. Ids are specific to the app. There is
// usually no email address; if there is one, it counts as verified.
//
// https://developers.snap.com/snap-kit/login-kit/overview
func Snapchat(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "snapchat", Name: "Snapchat", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://accounts.snapchat.com/accounts/oauth2/auth",
			Token:         "https://accounts.snapchat.com/accounts/oauth2/token",
			UserInfo:      "https://kit.snapchat.com/v1/me?query=%7Bme%20%7B%20externalId%20displayName%20bitmoji%20%7B%20avatar%20id%20%7D%20email%20%7D%20%7D",
		},
		Scope: "https://auth.snapchat.com/oauth2/api/user.external_id https://auth.snapchat.com/oauth2/api/user.display_name https://auth.snapchat.com/oauth2/api/user.bitmoji.avatar",
		Fields: authsvc.Fields{
			ID:    "data.me.externalId",
			Name:  "data.me.displayName",
			Email: "data.me.email",
			Image: "data.me.bitmoji.avatar",
		},
		TrustEmail: true,
		Style:      authsvc.Style{Logo: "snapchat", Background: "#fffc00", Text: "#000000"},
	}
}
