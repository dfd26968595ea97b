package provider

import (
	"context"

	"authsvc"
	"authsvc/internal/text"
)

// smallImage matches the end of the URL of the 48 pixel variant of a picture.
var smallImage = text.LazyRegexp(`_normal(\.[a-z]+)$`)

func twitterLegacyEntry() Entry {
	return Entry{
		ID: "twitter-legacy", Name: "X (Twitter) OAuth 1.0a", Button: "X", Aliases: []string{"twitterv2"}, Protocol: "oauth1", Email: EmailImplied,
		Docs: "https://docs.x.com/resources/fundamentals/authentication/oauth-1-0a/obtaining-user-access-tokens",
		Notes: []string{
			"NextAuth.js v4 calls this provider twitter: to keep its accounts, write {id: twitter, type: twitter-legacy}.",
			"The plan of the API determines whether the profile may be read; prefer twitter for new applications.",
			"For the email address, enable \"Request email from users\" in the app.",
		},
		New: plain(TwitterLegacy),
	}
}

// TwitterLegacy signs in with an X account through OAuth 1.0a, as NextAuth.js v4 does
// under the id twitter. The id is id_str, because some JSON parsers round the number in
// id. The email address is provided only if it is confirmed and the app may request
// it.
//
// https://docs.x.com/resources/fundamentals/authentication/oauth-1-0a/obtaining-user-access-tokens
func TwitterLegacy(c authsvc.Client) *authsvc.OAuth1 {
	return &authsvc.OAuth1{
		ID: "twitter-legacy", Name: "X", Client: c,
		RequestTokenURL:  "https://api.twitter.com/oauth/request_token",
		AuthorizationURL: "https://api.twitter.com/oauth/authenticate",
		AccessTokenURL:   "https://api.twitter.com/oauth/access_token",
		UserInfoURL:      "https://api.twitter.com/1.1/account/verify_credentials.json?include_email=true",
		UserInfo: func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
			p, err := x.UserInfo(ctx)
			if image, ok := p["profile_image_url_https"].(string); ok {
				p["profile_image_url_https"] = smallImage.ReplaceAllString(image, "$1")
			}
			return p, err
		},
		Fields:     authsvc.Fields{ID: "id_str", Name: "name|screen_name", Image: "profile_image_url_https"},
		TrustEmail: true,
		Style:      authsvc.Style{Logo: "x", Background: "#000000", Text: "#ffffff"},
	}
}
