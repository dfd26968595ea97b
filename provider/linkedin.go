package provider

import "authsvc"

func linkedInEntry() Entry {
	return Entry{
		ID: "linkedin", Name: "LinkedIn", Aliases: []string{"linkedin_oidc"}, Protocol: "oidc", Email: EmailClaim,
		Docs: "https://learn.microsoft.com/en-us/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2",
		Notes: []string{
			"The app needs the product \"Sign In with LinkedIn using OpenID Connect\".",
		},
		New: plain(LinkedIn),
	}
}

// LinkedIn signs in with a LinkedIn account, by OpenID Connect. The product
// "Sign In with LinkedIn using OpenID Connect" must be added to the app.
// LinkedIn puts no nonce into ID tokens and refuses PKCE, which leaves state.
//
// https://learn.microsoft.com/en-us/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2
func LinkedIn(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "linkedin", Name: "LinkedIn", Client: c,
		OpenID:     true,
		Issuer:     "https://www.linkedin.com/oauth",
		AuthMethod: "client_secret_post",
		Checks:     []string{"state"},
		// at its sign-in page, and at that of the permissions
		DeniedErrors: []string{"user_cancelled_login", "user_cancelled_authorize"},
		Fields:       authsvc.Fields{Name: "name|{given_name} {family_name}"},
		Style:        authsvc.Style{Background: "#006699", Text: "#ffffff"},
	}
}
