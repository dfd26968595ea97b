package provider

import (
	"cmp"

	"authsvc"
)

func battleNetEntry() Entry {
	return Entry{
		ID: "battlenet", Name: "Battle.net", Protocol: "oidc", Email: EmailAbsent,
		Docs: "https://develop.battle.net/documentation/guides/using-oauth",
		Options: []Option{
			{Key: "issuer", Doc: "the issuer, such as https://eu.battle.net/oauth", Example: "https://eu.battle.net/oauth"},
		},
		New: withDefault("issuer", BattleNet),
	}
}

// BattleNet signs in with a Battle.net account. The name is the BattleTag. issuer may
// name a regional server; if empty, it is https://oauth.battle.net. The profile has no
// email address.
//
// https://develop.battle.net/documentation/guides/using-oauth
func BattleNet(c authsvc.Client, issuer string) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "battlenet", Name: "Battle.net", Client: c,
		OpenID: true,
		Issuer: cmp.Or(issuer, "https://oauth.battle.net"),
		Scope:  "openid",
		Fields: authsvc.Fields{Name: "battle_tag|battletag", Email: never},
		Style:  authsvc.Style{Logo: "battlenet", Background: "#148eff", Text: "#000000"},
	}
}
