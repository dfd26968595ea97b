package provider

import "authsvc"

func dropboxEntry() Entry {
	return Entry{
		ID: "dropbox", Name: "Dropbox", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://developers.dropbox.com/oauth-guide",
		Notes: []string{
			"The app needs the permission account_info.read.",
		},
		New: plain(Dropbox),
	}
}

// Dropbox signs in with a Dropbox account. The profile is requested with a POST without
// a body. For a refresh token, add the parameter token_access_type=offline.
//
// https://developers.dropbox.com/oauth-guide
func Dropbox(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "dropbox", Name: "Dropbox", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.dropbox.com/oauth2/authorize",
			Token:         "https://api.dropboxapi.com/oauth2/token",
			UserInfo:      "https://api.dropboxapi.com/2/users/get_current_account",
		},
		Scope:               "account_info.read",
		AuthorizationParams: map[string]string{"token_access_type": "offline"},
		UserInfo: authsvc.UserInfo{
			Method: "POST",
		},
		Fields: authsvc.Fields{ID: "account_id", Name: "name.display_name", Image: "profile_photo_url"},
		Style:  authsvc.Style{Logo: "dropbox", Background: "#0061fe", Text: "#ffffff"},
	}
}
