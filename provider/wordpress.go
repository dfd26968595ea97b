package provider

import "authsvc"

func wordPressEntry() Entry {
	return Entry{
		ID: "wordpress", Name: "WordPress.com", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://developer.wordpress.com/docs/api/wpcc/",
		New:  plain(WordPress),
	}
}

// WordPress signs in with a WordPress.com account. Self-hosted WordPress is a different
// product.
//
// https://developer.wordpress.com/docs/api/wpcc/
func WordPress(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "wordpress", Name: "WordPress.com", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://public-api.wordpress.com/oauth2/authorize",
			Token:         "https://public-api.wordpress.com/oauth2/token",
			UserInfo:      "https://public-api.wordpress.com/rest/v1/me",
		},
		Scope:      "auth",
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "ID", Name: "display_name|username", Image: "avatar_URL"},
		Style:      authsvc.Style{Logo: "wordpress", Background: "#21759b", Text: "#ffffff"},
	}
}
