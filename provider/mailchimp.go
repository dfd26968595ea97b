package provider

import "authsvc"

func mailchimpEntry() Entry {
	return Entry{
		ID: "mailchimp", Name: "Mailchimp", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://mailchimp.com/developer/marketing/guides/access-user-data-oauth-2/",
		Notes: []string{
			"The redirect host for local work is 127.0.0.1, not localhost.",
		},
		New: plain(Mailchimp),
	}
}

// Mailchimp signs in with a Mailchimp account. The user is a login of that account, which
// may have several. Tokens do not expire. The email address is unverified.
//
// https://mailchimp.com/developer/marketing/guides/access-user-data-oauth-2/
func Mailchimp(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "mailchimp", Name: "Mailchimp", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://login.mailchimp.com/oauth2/authorize",
			Token:         "https://login.mailchimp.com/oauth2/token",
			UserInfo:      "https://login.mailchimp.com/oauth2/metadata",
		},
		AuthMethod: "client_secret_post",
		NoPKCE:     true, // PKCE is not supported
		UserInfo: authsvc.UserInfo{
			Auth: "header:Authorization OAuth",
		},
		Fields: authsvc.Fields{
			ID:            "login.login_id",
			Name:          "accountname|login.login_name",
			Email:         "login.email",
			EmailVerified: never,
			Image:         "login.avatar",
		},
		Style: authsvc.Style{Background: "#000000", Text: "#ffffff"},
	}
}
