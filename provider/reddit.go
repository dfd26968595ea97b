package provider

import (
	"cmp"
	"context"
	"strings"

	"authsvc"
)

func redditEntry() Entry {
	return Entry{
		ID: "reddit", Name: "Reddit", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://github.com/reddit-archive/reddit/wiki/OAuth2",
		Options: []Option{
			{Key: "user_agent", Doc: "the User-Agent to send, as Reddit requires it: PLATFORM:APP:VERSION (by /u/USER)", Example: "web:com.example.app:1.0 (by /u/example)"},
		},
		Notes: []string{
			"Reddit slows down apps whose User-Agent does not identify them.",
		},
		New: withDefault("user_agent", Reddit),
	}
}

// Reddit signs in with a Reddit account. The profile has no email address. Reddit
// wants a User-Agent that names the app and a contact, and throttles others; if empty,
// userAgent is web:CLIENT_ID:1.0. For a refresh token, add the authorization parameter
// duration=permanent.
//
// https://github.com/reddit-archive/reddit/wiki/OAuth2
func Reddit(c authsvc.Client, userAgent string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "reddit", Name: "Reddit", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.reddit.com/api/v1/authorize",
			Token:         "https://www.reddit.com/api/v1/access_token",
			UserInfo:      "https://oauth.reddit.com/api/v1/me",
			Revocation:    "https://www.reddit.com/api/v1/revoke_token",
		},
		Scope:               "identity",
		AuthorizationParams: map[string]string{"duration": "temporary"},
		Headers:             map[string]string{"User-Agent": cmp.Or(userAgent, "web:{client_id}:1.0")},
		NoPKCE:              true, // PKCE is not supported
		Hooks: authsvc.Hooks{
			UserInfo: redditMe,
		},
		Fields: authsvc.Fields{ID: "id", Name: "name", Email: never, Image: "icon_img|snoovatar_img"},
		Style:  authsvc.Style{Logo: "reddit", Background: "#ff4500", Text: "#000000"},
	}
}

// redditMe removes the query from the picture's URL, because it is escaped as HTML.
func redditMe(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	profile, err := x.UserInfo(ctx)
	if err != nil {
		return nil, err
	}
	if icon, ok := profile["icon_img"].(string); ok {
		profile["icon_img"], _, _ = strings.Cut(icon, "?")
	}
	return profile, nil
}
