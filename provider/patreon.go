package provider

import "authsvc"

func patreonEntry() Entry {
	return Entry{
		ID: "patreon", Name: "Patreon", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://docs.patreon.com/#oauth",
		New:  plain(Patreon),
	}
}

// Patreon signs in with a Patreon account through the API v2.
//
// https://docs.patreon.com/#oauth
func Patreon(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "patreon", Name: "Patreon", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.patreon.com/oauth2/authorize",
			Token:         "https://www.patreon.com/api/oauth2/token",
			UserInfo:      "https://www.patreon.com/api/oauth2/v2/identity?fields%5Buser%5D=full_name,email,vanity,image_url,is_email_verified",
		},
		Scope:      "identity identity[email]",
		AuthMethod: "client_secret_post",
		Fields: authsvc.Fields{
			ID:            "data.id",
			Name:          "data.attributes.full_name|data.attributes.vanity",
			Email:         "data.attributes.email",
			EmailVerified: "data.attributes.is_email_verified",
			Image:         "data.attributes.image_url",
		},
		Style: authsvc.Style{Logo: "patreon", Background: "#e85b46", Text: "#000000"},
	}
}
