package provider

import "authsvc"

// Mailchimp signs in with a Mailchimp account. The profile is that of the
// login within the account. Tokens do not expire. Nothing vouches for the
// address.
//
// https://mailchimp.com/developer/marketing/guides/access-user-data-oauth-2/
func Mailchimp(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "mailchimp", Name: "Mailchimp", Client: c,
		AuthorizationURL: "https://login.mailchimp.com/oauth2/authorize",
		TokenURL:         "https://login.mailchimp.com/oauth2/token",
		UserInfoURL:      "https://login.mailchimp.com/oauth2/metadata",
		AuthMethod:       "client_secret_post",
		NoPKCE:           true, // it knows no PKCE
		UserInfoAuth:     "header:Authorization OAuth",
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
