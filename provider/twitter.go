package provider

import "authsvc"

func twitterEntry() Entry {
	return Entry{
		ID: "twitter", Name: "X (Twitter) OAuth 2.0", Button: "X", Aliases: []string{"x"}, Protocol: "oauth2", Email: EmailImplied,
		Docs: "https://docs.x.com/resources/fundamentals/authentication/oauth-2-0/user-access-token",
		Notes: []string{
			"For the email address, enable \"Request email from users\" in the app.",
		},
		New: plain(Twitter),
	}
}

// Twitter signs in with an X account through OAuth 2.0. The email address needs the
// scope users.email and the app's permission to request it. It is provided only if
// confirmed. The profile's field verified is the badge of an account.
//
// https://docs.x.com/resources/fundamentals/authentication/oauth-2-0/user-access-token
func Twitter(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "twitter", Name: "X", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://x.com/i/oauth2/authorize",
			Token:         "https://api.x.com/2/oauth2/token",
			UserInfo:      "https://api.x.com/2/users/me?user.fields=profile_image_url,confirmed_email",
			Revocation:    "https://api.x.com/2/oauth2/revoke",
		},
		Scope: "users.read tweet.read offline.access users.email",
		Fields: authsvc.Fields{
			ID:    "data.id",
			Name:  "data.name|data.username",
			Email: "data.confirmed_email",
			Image: "data.profile_image_url",
		},
		TrustEmail: true,
		Style:      authsvc.Style{Logo: "x", Background: "#000000", Text: "#ffffff"},
	}
}
