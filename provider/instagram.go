package provider

import "authsvc"

func instagramEntry() Entry {
	return Entry{
		ID: "instagram", Name: "Instagram", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://developers.facebook.com/docs/instagram-platform/instagram-api-with-instagram-login/business-login",
		Notes: []string{
			"Only professional accounts can sign in.",
		},
		New: plain(Instagram),
	}
}

// Instagram signs in with a professional Instagram account (business or creator); other
// accounts cannot sign in. Ids are specific to the app. The profile has no email
// address.
//
// https://developers.facebook.com/docs/instagram-platform/instagram-api-with-instagram-login/business-login
func Instagram(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "instagram", Name: "Instagram", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.instagram.com/oauth/authorize",
			Token:         "https://api.instagram.com/oauth/access_token",
			UserInfo:      "https://graph.instagram.com/me?fields=id,user_id,username,account_type,name,profile_picture_url",
		},
		Scope:      "instagram_business_basic",
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "user_id", Name: "name|username", Email: never, Image: "profile_picture_url"},
		Style:      authsvc.Style{Logo: "instagram", Background: "#ff0069", Text: "#000000"},
	}
}
