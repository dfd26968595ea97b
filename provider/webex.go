package provider

import (
	"cmp"

	"authsvc"
)

// Webex signs in with a Cisco Webex account. apiBaseURL is
// https://webexapis.com/v1 if empty; the government cloud has another. Nothing
// vouches for the address.
//
// https://developer.webex.com/docs/login-with-webex
func Webex(c authsvc.Client, apiBaseURL string) *authsvc.OAuth {
	base := server(cmp.Or(apiBaseURL, "https://webexapis.com/v1"))
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
