package provider

import (
	"context"
	"errors"
	"fmt"

	"authsvc"
)

func linearEntry() Entry {
	return Entry{
		ID: "linear", Name: "Linear", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://linear.app/developers/oauth-2-0-authentication",
		Notes: []string{
			"People who were removed from the workspace are refused.",
		},
		New: plain(Linear),
	}
}

// Linear signs in with a Linear account that is not suspended. Ids are specific to a
// workspace. The email address is unverified.
//
// https://linear.app/developers/oauth-2-0-authentication
func Linear(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "linear", Name: "Linear", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://linear.app/oauth/authorize",
			Token:         "https://api.linear.app/oauth/token",
			UserInfo:      "https://api.linear.app/graphql",
			Revocation:    "https://api.linear.app/oauth/revoke",
		},
		UserInfo: authsvc.UserInfo{
			Method: "POST",
			Body:   `{"query": "query { viewer { id name displayName email avatarUrl active } }"}`,
		},
		Scope:      "read",
		AuthMethod: "client_secret_post",
		NoPKCE:     true, // PKCE was refused with an error
		Hooks: authsvc.Hooks{
			UserInfo: linearViewer,
		},
		Fields: authsvc.Fields{
			ID:            "data.viewer.id",
			Name:          "data.viewer.name|data.viewer.displayName",
			Email:         "data.viewer.email",
			EmailVerified: never,
			Image:         "data.viewer.avatarUrl",
		},
		Style: authsvc.Style{Logo: "linear", Background: "#5e6ad2", Text: "#ffffff"},
	}
}

// linearViewer refuses people who were removed from the workspace. GraphQL errors have
// status 200 and no viewer.
func linearViewer(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	profile, err := x.UserInfo(ctx)
	if err != nil {
		return nil, err
	}
	data, _ := profile["data"].(map[string]any)
	viewer, _ := data["viewer"].(map[string]any)
	switch viewer["active"] {
	case true:
		return profile, nil
	case false:
		return nil, fmt.Errorf("linear: the person is not active: %w", authsvc.ErrAccessDenied)
	}
	return nil, errors.New("linear: the answer does not say whether the person is active")
}
