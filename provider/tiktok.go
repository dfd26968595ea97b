package provider

import "authsvc"

func tikTokEntry() Entry {
	return Entry{
		ID: "tiktok", Name: "TikTok", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://developers.tiktok.com/doc/login-kit-web/",
		Notes: []string{
			"The redirect URI must be https, and not localhost.",
		},
		New: plain(TikTok),
	}
}

// TikTok signs in with a TikTok account. Ids are specific to the app. Fields other than
// the requested ones need more scopes. is_verified is the badge of an account. The
// profile has no email address.
//
// https://developers.tiktok.com/doc/login-kit-web/
func TikTok(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "tiktok", Name: "TikTok", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.tiktok.com/v2/auth/authorize",
			Token:         "https://open.tiktokapis.com/v2/oauth/token/",
			UserInfo:      "https://open.tiktokapis.com/v2/user/info/?fields=open_id,union_id,avatar_url,display_name",
			Revocation:    "https://open.tiktokapis.com/v2/oauth/revoke/",
		},
		Scope:         "user.info.basic",
		ClientIDParam: "client_key",
		AuthMethod:    "client_secret_post",
		Fields: authsvc.Fields{
			ID:    "data.user.open_id",
			Name:  "data.user.display_name|data.user.username",
			Email: never,
			Image: "data.user.avatar_large_url|data.user.avatar_url",
		},
		Style: authsvc.Style{Logo: "tiktok", Background: "#000000", Text: "#ffffff"},
	}
}
