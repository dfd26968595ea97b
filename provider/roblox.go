package provider

import "authsvc"

func robloxEntry() Entry {
	return Entry{
		ID: "roblox", Name: "Roblox", Protocol: "oidc", Email: EmailAbsent,
		Docs: "https://create.roblox.com/docs/cloud/auth/oauth2-overview",
		New:  plain(Roblox),
	}
}

// Roblox signs in players with a Roblox account. The profile has no email address.
//
// https://create.roblox.com/docs/cloud/auth/oauth2-overview
func Roblox(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "roblox", Name: "Roblox", Client: c,
		OpenID:     true,
		Issuer:     "https://apis.roblox.com/oauth/",
		Scope:      "openid profile",
		AuthMethod: "client_secret_post",
		UserInfo: authsvc.UserInfo{
			AddClaims: true,
		},
		Fields: authsvc.Fields{Email: never},
		Style:  authsvc.Style{Logo: "roblox", Background: "#5865f2", Text: "#ffffff"},
	}
}
