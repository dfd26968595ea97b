package provider

import (
	"context"
	"errors"
	"fmt"

	"authsvc"
)

func mondayEntry() Entry {
	return Entry{
		ID: "monday", Name: "monday.com", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://developer.monday.com/apps/docs/oauth",
		Notes: []string{
			"People who were deactivated at monday.com are refused.",
		},
		New: plain(Monday),
	}
}

// Monday signs in with an enabled monday.com account. An email address counts as
// verified if monday.com has verified it.
//
// https://developer.monday.com/apps/docs/oauth
func Monday(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "monday", Name: "monday.com", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://auth.monday.com/oauth2/authorize",
			Token:         "https://auth.monday.com/oauth2/token",
			UserInfo:      "https://api.monday.com/v2",
		},
		UserInfo: authsvc.UserInfo{
			Method: "POST",
			Body:   `{"query": "query { me { id enabled name email is_verified photo_small } }"}`,
		},
		Scope: "me:read",
		Hooks: authsvc.Hooks{
			UserInfo: mondayMe,
		},
		Fields: authsvc.Fields{
			ID:            "data.me.id",
			Name:          "data.me.name",
			Email:         "data.me.email",
			EmailVerified: "data.me.is_verified",
			Image:         "data.me.photo_small",
		},
		Style: authsvc.Style{Background: "#ff3d57", Text: "#000000"},
	}
}

// mondayMe refuses people whose account is disabled. GraphQL errors have status 200 and
// no person in data.
func mondayMe(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	profile, err := x.UserInfo(ctx)
	if err != nil {
		return nil, err
	}
	data, _ := profile["data"].(map[string]any)
	me, _ := data["me"].(map[string]any)
	switch me["enabled"] {
	case true:
		return profile, nil
	case false:
		return nil, fmt.Errorf("monday: the person is not enabled: %w", authsvc.ErrAccessDenied)
	}
	return nil, errors.New("monday: the answer does not say whether the person is enabled")
}
