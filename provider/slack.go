package provider

import "authsvc"

// Slack signs in with a Slack account, by OpenID Connect. Ids are unique
// within a workspace only as user ids, and everywhere as sub, which is taken.
// PKCE stays off: using it once turns a Slack app into a public client for
// good.
//
// https://docs.slack.dev/authentication/sign-in-with-slack/
func Slack(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "slack", Name: "Slack", Client: c,
		OpenID: true,
		Issuer: "https://slack.com",
		Checks: []string{"state", "nonce"},
		Fields: authsvc.Fields{Image: `picture|"https://slack.com/user_image_512"`},
		Style:  authsvc.Style{Background: "#000000", Text: "#ffffff"},
	}
}
