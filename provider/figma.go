package provider

import "authsvc"

func figmaEntry() Entry {
	return Entry{
		ID: "figma", Name: "Figma", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://developers.figma.com/docs/rest-api/authentication/",
		Notes: []string{
			"The app needs the scope current_user:read.",
		},
		New: plain(Figma),
	}
}

// Figma signs in with a Figma account. The email address is unverified.
//
// https://developers.figma.com/docs/rest-api/authentication/
func Figma(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "figma", Name: "Figma", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.figma.com/oauth",
			Token:         "https://api.figma.com/v1/oauth/token",
			UserInfo:      "https://api.figma.com/v1/me",
		},
		Scope:  "current_user:read",
		Fields: authsvc.Fields{ID: "id", Name: "handle", EmailVerified: never, Image: "img_url"},
		Style:  authsvc.Style{Logo: "figma", Background: "#ff7237", Text: "#000000"},
	}
}
