package provider

import "authsvc"

func fortyTwoEntry() Entry {
	return Entry{
		ID: "42-school", Name: "42 School", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://api.intra.42.fr/apidoc/guides/web_application_flow",
		New:  plain(FortyTwo),
	}
}

// FortyTwo signs in students of the 42 schools with their intranet account. The email
// address is the one issued by the school; it is unverified.
//
// https://api.intra.42.fr/apidoc/guides/web_application_flow
func FortyTwo(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "42-school", Name: "42 School", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://api.intra.42.fr/oauth/authorize",
			Token:         "https://api.intra.42.fr/oauth/token",
			UserInfo:      "https://api.intra.42.fr/v2/me",
		},
		Scope: "public",
		Fields: authsvc.Fields{
			ID:            "id",
			Name:          "usual_full_name|displayname|login",
			EmailVerified: never,
			Image:         "image.link|image_url",
		},
		Style: authsvc.Style{Logo: "42", Background: "#000000", Text: "#ffffff"},
	}
}
