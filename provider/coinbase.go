package provider

import "authsvc"

func coinbaseEntry() Entry {
	return Entry{
		ID: "coinbase", Name: "Coinbase", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://docs.cdp.coinbase.com/coinbase-app/oauth2-integration/overview",
		Notes: []string{
			"Coinbase does not create OAuth clients for the time being; existing ones work.",
		},
		New: plain(Coinbase),
	}
}

// Coinbase signs in with a Coinbase account. For a refresh token, add offline_access to
// the scope. The email address is unverified.
//
// https://docs.cdp.coinbase.com/coinbase-app/oauth2-integration/overview
func Coinbase(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "coinbase", Name: "Coinbase", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://login.coinbase.com/oauth2/auth",
			Token:         "https://login.coinbase.com/oauth2/token",
			UserInfo:      "https://api.coinbase.com/v2/user",
			Revocation:    "https://login.coinbase.com/oauth2/revoke",
		},
		Scope:      "wallet:user:email,wallet:user:read",
		AuthMethod: "client_secret_post",
		Fields: authsvc.Fields{
			ID:            "data.id",
			Name:          "data.name",
			Email:         "data.email",
			EmailVerified: never,
			Image:         "data.avatar_url",
		},
		Style: authsvc.Style{Background: "#0052ff", Text: "#ffffff"},
	}
}
