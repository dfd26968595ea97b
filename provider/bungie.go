package provider

import "authsvc"

func bungieEntry() Entry {
	return Entry{
		ID: "bungie", Name: "Bungie", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://github.com/Bungie-net/api/wiki/OAuth-Documentation",
		Options: []Option{
			{Key: "api_key", Doc: "the API key of the application at bungie.net", Example: "0123456789abcdef", Required: true, Secret: true},
		},
		New: withOption("api_key", Bungie),
	}
}

// Bungie signs in players with a Bungie.net account. Every call carries the
// application's API key. The scope is set when the application is registered. The
// profile has no email address.
//
// https://github.com/Bungie-net/api/wiki/OAuth-Documentation
func Bungie(c authsvc.Client, apiKey string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "bungie", Name: "Bungie", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://www.bungie.net/en/OAuth/Authorize",
			Token:         "https://www.bungie.net/platform/app/oauth/token/",
			UserInfo:      "https://www.bungie.net/Platform/User/GetMembershipsForCurrentUser/",
		},
		AuthorizationParams: map[string]string{"reauth": "true"},
		UserInfo: authsvc.UserInfo{
			Headers: map[string]string{"X-API-Key": apiKey},
		},
		Fields: authsvc.Fields{
			ID:    "Response.bungieNetUser.membershipId",
			Name:  "Response.bungieNetUser.displayName",
			Email: never,
			Image: "https://www.bungie.net{Response.bungieNetUser.profilePicturePath}",
		},
		Style: authsvc.Style{Background: "#0a0a0a", Text: "#ffffff"},
	}
}
