package provider

import "authsvc"

func mastodonEntry() Entry {
	return Entry{
		ID: "mastodon", Name: "Mastodon", Protocol: "oauth2", Email: EmailAbsent,
		Docs:    "https://docs.joinmastodon.org/spec/oauth/",
		Options: issuerOption("https://mastodon.social"),
		New:     withIssuer(Mastodon),
	}
}

// Mastodon signs in with an account of one Mastodon server, where the application must
// be registered. Account ids are specific to the server, so give each server its own
// provider id. The profile has no email address.
//
// https://docs.joinmastodon.org/spec/oauth/
func Mastodon(c authsvc.Client, issuer string) *authsvc.OAuth {
	base := withoutSlash(issuer)
	return &authsvc.OAuth{
		ID: "mastodon", Name: "Mastodon", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: base + "/oauth/authorize",
			Token:         base + "/oauth/token",
			UserInfo:      base + "/api/v1/accounts/verify_credentials",
			Revocation:    base + "/oauth/revoke",
		},
		Scope:  "read",
		Fields: authsvc.Fields{ID: "id", Name: "display_name|username", Email: never, Image: "avatar_static|avatar"},
		Style:  authsvc.Style{Logo: "mastodon", Background: "#6364ff", Text: "#000000"},
	}
}
