package provider

import "authsvc"

func twitchEntry() Entry {
	return Entry{
		ID: "twitch", Name: "Twitch", Protocol: "oidc", Email: EmailClaim,
		Docs: "https://dev.twitch.tv/docs/authentication/getting-tokens-oidc/",
		New:  plain(Twitch),
	}
}

// Twitch signs in with a Twitch account through OpenID Connect. The ID token contains
// only the claims that the parameter claims requests. PKCE is not supported.
//
// https://dev.twitch.tv/docs/authentication/getting-tokens-oidc/
func Twitch(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "twitch", Name: "Twitch", Client: c,
		OpenID: true,
		Issuer: "https://id.twitch.tv/oauth2",
		Scope:  "openid user:read:email",
		AuthorizationParams: map[string]string{
			"claims": `{"id_token":{"email":null,"email_verified":null,"picture":null,"preferred_username":null}}`,
		},
		AuthMethod: "client_secret_post",
		NoPKCE:     true,
		Fields:     authsvc.Fields{Name: "preferred_username"},
		Style:      authsvc.Style{Logo: "twitch", Background: "#65459b", Text: "#ffffff"},
	}
}
