package provider

import (
	"context"
	"errors"
	"net/url"

	"authsvc"
)

func steamEntry() Entry {
	return Entry{
		ID: "steam", Name: "Steam", Protocol: "openid2", Email: EmailAbsent, NoClient: true, NoSecret: true,
		Docs: "https://partner.steamgames.com/doc/features/auth",
		Options: []Option{
			{Key: "api_key", Doc: "the key of the Steam Web API, from steamcommunity.com/dev/apikey", Example: "0123456789ABCDEF0123456789ABCDEF", Required: true, Secret: true},
		},
		Notes: []string{
			"There is no application to register and no redirect URI to set.",
		},
		New: steam,
	}
}

// Steam signs in players through OpenID 2.0. The id is the 64-bit SteamID of the
// verified identifier. The profile has no email address. Name and picture need a Steam
// Web API call with the key in the query, as Steam requires.
//
// https://partner.steamgames.com/doc/features/auth
func Steam(apiKey string) *authsvc.OpenID2 {
	return &authsvc.OpenID2{
		ID: "steam", Name: "Steam",
		Endpoint:        "https://steamcommunity.com/openid/login",
		ClaimedIDPrefix: "https://steamcommunity.com/openid/id/",
		Hosts:           []string{"api.steampowered.com"},
		UserInfo: func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
			q := url.Values{"key": {apiKey}, "steamids": {x.Claims.Text("sub")}}
			v, err := x.Do(ctx, authsvc.APIRequest{URL: "https://api.steampowered.com/ISteamUser/GetPlayerSummaries/v0002/?" + q.Encode()})
			if err != nil {
				return nil, err
			}
			p, ok := v.(map[string]any)
			if !ok {
				return nil, errors.New("the summary is not an object")
			}
			return p, nil
		},
		Fields: authsvc.Fields{
			ID:    "response.players[0].steamid",
			Name:  "response.players[0].personaname|response.players[0].realname",
			Email: never,
			Image: "response.players[0].avatarfull",
		},
		Style: authsvc.Style{Logo: "steam", Background: "#171a21", Text: "#ffffff"},
	}
}

// steam creates the provider from options.
func steam(_ authsvc.Client, options map[string]string) (authsvc.Provider, error) {
	if options["api_key"] == "" {
		return nil, missing("api_key")
	}
	return Steam(options["api_key"]), nil
}
