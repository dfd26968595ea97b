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

// Slack signs in with a Slack account through OpenID Connect. The id is the user id,
// which Slack guarantees to be unique only within a workspace. If many workspaces
// install your app, prefix the id with the claim https://slack.com/team_id. PKCE stays
// off: using it once permanently turns a Slack app into a public client.
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
