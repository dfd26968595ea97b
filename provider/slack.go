package provider

import "authsvc"

func slackEntry() Entry {
	return Entry{
		ID: "slack", Name: "Slack", Aliases: []string{"slack_oidc"}, Protocol: "oidc", Email: EmailClaim,
		Docs: "https://docs.slack.dev/authentication/sign-in-with-slack/",
		Notes: []string{
			"The redirect URI must be https.",
			"For an app that many workspaces install, set profile.id to {\"https://slack.com/team_id\"}-{sub}: user ids are unique within a workspace.",
		},
		New: plain(Slack),
	}
}

// Slack signs in with a Slack account, by OpenID Connect. The id is the user
// id, which Slack promises to be unique within a workspace only: for an app
// that many workspaces install, put the claim https://slack.com/team_id in
// front of it. PKCE stays off: using it once turns a Slack app into a public
// client for good.
//
// https://docs.slack.dev/authentication/sign-in-with-slack/
func Slack(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "slack", Name: "Slack", Client: c,
		OpenID: true,
		Issuer: "https://slack.com",
		NoPKCE: true,
		Fields: authsvc.Fields{Image: `picture|"https://slack.com/user_image_512"`},
		Style:  authsvc.Style{Background: "#000000", Text: "#ffffff"},
	}
}
