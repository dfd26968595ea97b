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

// LinkedIn signs in with a LinkedIn account through OpenID Connect. The app must have
// the product "Sign In with LinkedIn using OpenID Connect". LinkedIn puts no nonce into
// ID tokens and refuses PKCE, so only state protects the sign-in.
//
// https://learn.microsoft.com/en-us/linkedin/consumer/integrations/self-serve/sign-in-with-linkedin-v2
func LinkedIn(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "linkedin", Name: "LinkedIn", Client: c,
		OpenID:     true,
		Issuer:     "https://www.linkedin.com/oauth",
		AuthMethod: "client_secret_post",
		Checks:     []string{"state"},
		// On the sign-in page and on the permissions page.
		DeniedErrors: []string{"user_cancelled_login", "user_cancelled_authorize"},
		Fields:       authsvc.Fields{Name: "name|{given_name} {family_name}"},
		Style:        authsvc.Style{Background: "#006699", Text: "#ffffff"},
	}
}
