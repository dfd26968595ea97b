package provider

import "authsvc"

func hydraEntry() Entry {
	return Entry{
		ID: "hydra", Name: "Ory Hydra", Aliases: []string{"ory-hydra"}, Protocol: "oidc", Email: EmailIssuer,
		Docs:    "https://www.ory.com/docs/oauth2-oidc",
		Options: issuerOption("https://hydra.example.com/"),
		Notes: []string{
			noteVerifiedFlag,
		},
		New: withIssuer(Hydra),
	}
}

// Hydra signs in with an Ory Hydra server. The operator's consent app decides which
// claims there are, and whether addresses are verified. They count as unverified; to
// trust the flag, set Fields.EmailVerified to email_verified.
//
// https://www.ory.com/docs/oauth2-oidc
func Hydra(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "hydra", Name: "Ory Hydra", Client: c,
		OpenID: true,
		Issuer: issuer,
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Fields: authsvc.Fields{EmailVerified: never},
		Style:  authsvc.Style{Logo: "ory", Background: "#ffffff", Text: "#0f172a"},
	}
}
