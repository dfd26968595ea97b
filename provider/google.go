package provider

import "authsvc"

func googleEntry() Entry {
	return Entry{
		ID: "google", Name: "Google", Protocol: "oidc", Email: EmailClaim,
		Docs: "https://developers.google.com/identity/openid-connect/openid-connect",
		Notes: []string{
			"The parameter hd only preselects a domain. To enforce one, keep the claim hd (session.claims) and name it in sign_in.allow.",
		},
		New: plain(Google),
	}
}

// Google signs in with a Google account through OpenID Connect. All data comes from the
// ID token. Its email_verified is set by Google's own check, which is authoritative for
// gmail.com and for Workspace domains (claim hd). The authorization parameter hd only
// preselects a domain; to enforce it, check the claim in a SignIn callback.
//
// https://developers.google.com/identity/openid-connect/openid-connect
func Google(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "google", Name: "Google", Client: c,
		OpenID: true,
		Issuer: "https://accounts.google.com",
		Scope:  "openid email profile",
		// Only verified projects that ask for auth_time receive it.
		NoAuthTime: true,
		Style:      authsvc.Style{Logo: "google", Background: "#ffffff", Text: "#000000"},
	}
}
