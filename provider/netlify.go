package provider

import "authsvc"

func netlifyEntry() Entry {
	return Entry{
		ID: "netlify", Name: "Netlify", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://docs.netlify.com/api/get-started/",
		New:  plain(Netlify),
	}
}

// Netlify signs in with a Netlify account. There are no scopes. The email address is
// unverified.
//
// https://docs.netlify.com/api/get-started/
func Netlify(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "netlify", Name: "Netlify", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://app.netlify.com/authorize",
			Token:         "https://api.netlify.com/oauth/token",
			UserInfo:      "https://api.netlify.com/api/v1/user",
		},
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "id", Name: "full_name", EmailVerified: never, Image: "avatar_url"},
		Style:      authsvc.Style{Logo: "netlify", Background: "#32e6e2", Text: "#000000"},
	}
}
