package provider

import "authsvc"

func atlassianEntry() Entry {
	return Entry{
		ID: "atlassian", Name: "Atlassian", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://developer.atlassian.com/cloud/jira/platform/oauth-2-3lo-apps/",
		Notes: []string{
			"The app needs the User identity API with the permission read:me.",
		},
		New: plain(Atlassian),
	}
}

// Atlassian signs in with an Atlassian account through an OAuth 2.0 (3LO) app. For a
// refresh token, add offline_access to the scope. The email address is unverified.
//
// https://developer.atlassian.com/cloud/jira/platform/oauth-2-3lo-apps/
func Atlassian(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "atlassian", Name: "Atlassian", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://auth.atlassian.com/authorize",
			Token:         "https://auth.atlassian.com/oauth/token",
			UserInfo:      "https://api.atlassian.com/me",
		},
		Scope:               "read:me",
		AuthorizationParams: map[string]string{"audience": "api.atlassian.com", "prompt": "consent"},
		Fields:              authsvc.Fields{ID: "account_id", EmailVerified: never},
		Style:               authsvc.Style{Logo: "atlassian", Background: "#ffffff", Text: "#0052cc"},
	}
}
