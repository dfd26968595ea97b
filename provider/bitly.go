package provider

import "authsvc"

func bitlyEntry() Entry {
	return Entry{
		ID: "bitly", Name: "Bitly", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://dev.bitly.com/docs/getting-started/authentication/",
		New:  plain(Bitly),
	}
}

// Bitly signs in with a Bitly account. The id is the login. The email address is the
// primary one; it is verified if Bitly says so. There are no scopes.
//
// https://dev.bitly.com/docs/getting-started/authentication/
func Bitly(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "bitly", Name: "Bitly", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://bitly.com/oauth/authorize",
			Token:         "https://api-ssl.bitly.com/oauth/access_token",
			UserInfo:      "https://api-ssl.bitly.com/v4/user",
		},
		Fields: authsvc.Fields{
			ID:            "login",
			Email:         "emails[is_primary=true].email",
			EmailVerified: "emails[is_primary=true].is_verified",
		},
		Style: authsvc.Style{Logo: "bitly", Background: "#ee6123", Text: "#000000"},
	}
}
