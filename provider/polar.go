package provider

import "authsvc"

func polarEntry() Entry {
	return Entry{
		ID: "polar", Name: "Polar", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://polar.sh/docs/integrate/oauth2/introduction",
		New:  plain(Polar),
	}
}

// Polar signs in with a Polar account. The profile comes from the userinfo endpoint.
//
// https://polar.sh/docs/integrate/oauth2/introduction
func Polar(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "polar", Name: "Polar", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://polar.sh/oauth2/authorize",
			Token:         "https://api.polar.sh/v1/oauth2/token",
			UserInfo:      "https://api.polar.sh/v1/oauth2/userinfo",
			Revocation:    "https://api.polar.sh/v1/oauth2/revoke",
		},
		Scope:      "openid profile email",
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "sub|id", Name: "name|public_name|username", Image: "picture|avatar_url"},
		Style:      authsvc.Style{Background: "#0062ff", Text: "#ffffff"},
	}
}
