package provider

import "authsvc"

func digitalOceanEntry() Entry {
	return Entry{
		ID: "digitalocean", Name: "DigitalOcean", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://docs.digitalocean.com/reference/api/oauth/",
		New:  plain(DigitalOcean),
	}
}

// DigitalOcean signs in with a DigitalOcean account. Locked accounts and accounts with
// a warning are refused.
//
// https://docs.digitalocean.com/reference/api/oauth/
func DigitalOcean(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "digitalocean", Name: "DigitalOcean", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://cloud.digitalocean.com/v1/oauth/authorize",
			Token:         "https://cloud.digitalocean.com/v1/oauth/token",
			UserInfo:      "https://api.digitalocean.com/v2/account",
			Revocation:    "https://cloud.digitalocean.com/v1/oauth/revoke",
		},
		Scope:      "read",
		AuthMethod: "client_secret_post",
		Fields: authsvc.Fields{
			ID:            "account.uuid",
			Name:          "account.name|account.email",
			Email:         "account.email",
			EmailVerified: "account.email_verified",
		},
		Hooks: authsvc.Hooks{
			UserInfo: activeUser("digitalocean", "account.status", "active"),
		},
		Style: authsvc.Style{Logo: "digitalocean", Background: "#0080ff", Text: "#000000"},
	}
}
