package provider

import "authsvc"

func faceitEntry() Entry {
	return Entry{
		ID: "faceit", Name: "FACEIT", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://docs.faceit.com/docs/auth/oauth2/introduction",
		New:  plain(FACEIT),
	}
}

// FACEIT signs in players with a FACEIT account. The meaning of its email flag is not
// documented, so the flag is ignored.
//
// https://docs.faceit.com/docs/auth/oauth2/introduction
func FACEIT(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "faceit", Name: "FACEIT", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://accounts.faceit.com/accounts",
			Token:         "https://api.faceit.com/auth/v1/oauth/token",
			UserInfo:      "https://api.faceit.com/auth/v1/resources/userinfo",
		},
		AuthorizationParams: map[string]string{"redirect_popup": "true"},
		Fields:              authsvc.Fields{ID: "guid", Name: "name|nickname", EmailVerified: never},
		Style:               authsvc.Style{Logo: "faceit", Background: "#ff5500", Text: "#000000"},
	}
}
