package provider

import "authsvc"

func intercomEntry() Entry {
	return Entry{
		ID: "intercom", Name: "Intercom", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://developers.intercom.com/docs/build-an-integration/learn-more/authentication/setting-up-oauth",
		New:  plain(Intercom),
	}
}

// Intercom signs in teammates with an Intercom account. The permissions of the app are
// set when it is registered.
//
// https://developers.intercom.com/docs/build-an-integration/learn-more/authentication/setting-up-oauth
func Intercom(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "intercom", Name: "Intercom", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://app.intercom.io/oauth",
			Token:         "https://api.intercom.io/auth/eagle/token",
			UserInfo:      "https://api.intercom.io/me",
		},
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "id", Image: "avatar.image_url"},
		Style:      authsvc.Style{Logo: "intercom", Background: "#286efa", Text: "#000000"},
	}
}
