package provider

import (
	"cmp"
	"net/url"

	"authsvc"
)

func foursquareEntry() Entry {
	return Entry{
		ID: "foursquare", Name: "Foursquare", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://docs.foursquare.com/developer/reference/v2-authentication",
		Options: []Option{
			{Key: "api_version", Doc: "the date of the API version to use, YYYYMMDD", Example: "20230131"},
		},
		New: withDefault("api_version", Foursquare),
	}
}

// Foursquare signs in with a Foursquare or Swarm account. apiVersion is a date and part
// of every call. Tokens do not expire. The email address is unverified.
//
// https://docs.foursquare.com/developer/reference/v2-authentication
func Foursquare(c authsvc.Client, apiVersion string) *authsvc.OAuth {
	version := url.QueryEscape(cmp.Or(apiVersion, "20230131"))
	return &authsvc.OAuth{
		ID: "foursquare", Name: "Foursquare", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://foursquare.com/oauth2/authenticate",
			Token:         "https://foursquare.com/oauth2/access_token",
			UserInfo:      "https://api.foursquare.com/v2/users/self?v=" + version,
		},
		UserInfo: authsvc.UserInfo{
			Auth: "query:oauth_token",
		},
		AuthMethod: "client_secret_post",
		NoPKCE:     true, // PKCE is not supported
		Fields: authsvc.Fields{
			ID:            "response.user.id",
			Name:          "{response.user.firstName} {response.user.lastName}",
			Email:         "response.user.contact.email",
			EmailVerified: never,
			Image:         "{response.user.photo.prefix}original{response.user.photo.suffix}",
		},
		Style: authsvc.Style{Logo: "foursquare", Background: "#000000", Text: "#ffffff"},
	}
}
