package provider

import (
	"context"
	"encoding/json"

	"authsvc"
)

func zoomEntry() Entry {
	return Entry{
		ID: "zoom", Name: "Zoom", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://developers.zoom.us/docs/integrations/oauth/",
		Notes: []string{
			"The app needs the scope user:read:user.",
		},
		New: plain(Zoom),
	}
}

// Zoom signs in with a Zoom account. The scopes are set in the app, which needs
// user:read:user. An email address counts as verified if Zoom has verified it. For the
// government cloud, replace zoom.us with zoomgov.com in the URLs.
//
// https://developers.zoom.us/docs/integrations/oauth/
func Zoom(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "zoom", Name: "Zoom", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://zoom.us/oauth/authorize",
			Token:         "https://zoom.us/oauth/token",
			UserInfo:      "https://api.zoom.us/v2/users/me",
			Revocation:    "https://zoom.us/oauth/revoke",
		},
		Hooks: authsvc.Hooks{
			UserInfo: zoomMe,
		},
		Fields: authsvc.Fields{
			ID:            "id",
			Name:          "display_name|{first_name} {last_name}",
			Email:         "email",
			EmailVerified: "verified",
			Image:         "pic_url",
		},
		Style: authsvc.Style{Background: "#0b5cff", Text: "#ffffff"},
	}
}

// zoomMe converts the flag, which is the number 1 or 0, to a boolean.
func zoomMe(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	profile, err := x.UserInfo(ctx)
	if err != nil {
		return nil, err
	}
	profile["verified"] = profile["verified"] == json.Number("1")
	return profile, nil
}
