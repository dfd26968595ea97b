package provider

import (
	"context"

	"authsvc"
)

func wakaTimeEntry() Entry {
	return Entry{
		ID: "wakatime", Name: "WakaTime", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://wakatime.com/developers#authentication",
		New:  plain(WakaTime),
	}
}

// WakaTime signs in with a WakaTime account. The photo is used only if it is public.
//
// https://wakatime.com/developers#authentication
func WakaTime(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "wakatime", Name: "WakaTime", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://wakatime.com/oauth/authorize",
			Token:         "https://wakatime.com/oauth/token",
			UserInfo:      "https://wakatime.com/api/v1/users/current",
			Revocation:    "https://wakatime.com/oauth/revoke",
		},
		Scope:      "email",
		AuthMethod: "client_secret_post",
		Fields: authsvc.Fields{
			ID:            "data.id",
			Name:          "data.display_name|data.username",
			Email:         "data.email",
			EmailVerified: "data.is_email_confirmed",
			Image:         "data.photo",
		},
		Hooks: authsvc.Hooks{
			UserInfo: wakatimeProfile,
		},
		Style: authsvc.Style{Logo: "wakatime", Background: "#000000", Text: "#ffffff"},
	}
}

func wakatimeProfile(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	profile, err := x.UserInfo(ctx)
	if err != nil {
		return nil, err
	}
	if data, _ := profile["data"].(map[string]any); data["photo_public"] != true {
		delete(data, "photo")
	}
	return profile, nil
}
