package provider

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"authsvc"
)

func eveOnlineEntry() Entry {
	return Entry{
		ID: "eveonline", Name: "EVE Online", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://developers.eveonline.com/docs/services/sso/",
		Notes: []string{
			"Accounts are characters, which can change hands; the member owner of the profile then changes too.",
		},
		New: plain(EVEOnline),
	}
}

// EVEOnline signs in characters of EVE Online; the id is the character's. A character
// can be sold: its owners differ in the profile's field owner. If that matters, compare
// it in a SignIn callback. The profile is the access token, a JWT. The profile has no
// email address.
//
// https://developers.eveonline.com/docs/services/sso/
func EVEOnline(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "eveonline", Name: "EVE Online", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://login.eveonline.com/v2/oauth/authorize",
			Token:         "https://login.eveonline.com/v2/oauth/token",
			JWKS:          "https://login.eveonline.com/oauth/jwks",
			Revocation:    "https://login.eveonline.com/v2/oauth/revoke",
		},
		Scope: "publicData",
		Hooks: authsvc.Hooks{
			UserInfo: eveProfile,
		},
		Fields: authsvc.Fields{
			ID:    "character_id",
			Name:  "name",
			Email: never,
			Image: "https://images.evetech.net/characters/{character_id}/portrait?size=128",
		},
		Style: authsvc.Style{Background: "#000000", Text: "#ffffff"},
	}
}

// eveProfile returns the claims of the access token. The token must have been issued
// for this application and for EVE Online.
func eveProfile(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	raw, _ := x.Tokens["access_token"].(string)
	claims, err := x.VerifyJWT(ctx, raw, "", []string{"https://login.eveonline.com", "login.eveonline.com"}, x.Client.ID)
	if err != nil {
		return nil, err
	}
	if all, _ := claims["aud"].([]any); !slices.Contains(all, any("EVE Online")) {
		return nil, errors.New("eveonline: the token is not for EVE Online")
	}
	sub, _ := claims["sub"].(string)
	id, ok := strings.CutPrefix(sub, "CHARACTER:EVE:")
	if !ok || id == "" || strings.Trim(id, "0123456789") != "" {
		return nil, errors.New("eveonline: the token names no character")
	}
	profile := maps.Clone(claims)
	profile["character_id"] = id
	return profile, nil
}
