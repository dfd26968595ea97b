package provider

import "authsvc"

func uberEntry() Entry {
	return Entry{
		ID: "uber", Name: "Uber", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://developer.uber.com/docs/consumer-identity/guides/authorization-code-flow",
		New:  plain(Uber),
	}
}

// Uber signs in with an Uber account. The id is specific to the app. mobile_verified is
// about the phone; the email address is unverified.
//
// https://developer.uber.com/docs/consumer-identity/guides/authorization-code-flow
func Uber(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "uber", Name: "Uber", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://auth.uber.com/oauth/v2/authorize",
			Token:         "https://auth.uber.com/oauth/v2/token",
			UserInfo:      "https://api.uber.com/v1/me",
		},
		Scope:      "profile",
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "rider_id", Name: "{first_name} {last_name}", EmailVerified: never},
		Style:      authsvc.Style{Background: "#000000", Text: "#ffffff"},
	}
}
