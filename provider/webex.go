package provider

import (
	"cmp"

	"authsvc"
)

func webexEntry() Entry {
	return Entry{
		ID: "webex", Name: "Webex", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://developer.webex.com/docs/login-with-webex",
		Options: []Option{
			{Key: "api_base_url", Doc: "the base of the API, for the government cloud https://api-usgov.webex.com/v1", Example: "https://api-usgov.webex.com/v1"},
		},
		New: withDefault("api_base_url", Webex),
	}
}

// Webex signs in with a Cisco Webex account. If apiBaseURL is empty, it is
// https://webexapis.com/v1; the government cloud has another one. The email address is
// unverified.
//
// https://developer.webex.com/docs/login-with-webex
func Webex(c authsvc.Client, apiBaseURL string) *authsvc.OAuth {
	base := withoutSlash(cmp.Or(apiBaseURL, "https://webexapis.com/v1"))
	return &authsvc.OAuth{
		ID: "webex", Name: "Webex", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: base + "/authorize",
			Token:         base + "/access_token",
			UserInfo:      base + "/people/me",
		},
		Scope:      "spark:kms spark:people_read",
		AuthMethod: "client_secret_post",
		Fields: authsvc.Fields{
			ID:            "id",
			Name:          "displayName",
			Email:         "emails[0]",
			EmailVerified: never,
			Image:         "avatar",
		},
		Style: authsvc.Style{Background: "#000000", Text: "#ffffff"},
	}
}
