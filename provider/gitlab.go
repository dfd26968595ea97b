package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"authsvc"
)

func gitLabEntry() Entry {
	return Entry{
		ID: "gitlab", Name: "GitLab", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://docs.gitlab.com/api/oauth2/",
		Options: []Option{
			{Key: "base_url", Doc: "the URL of your own server, such as https://git.example.com", Example: "https://git.example.com"},
		},
		Notes: []string{
			"With base_url, no email address counts as verified by default. To trust your server's confirmations, set profile.email_verified: email_verified.",
		},
		New: withDefault("base_url", GitLab),
	}
}

// GitLab signs in with gitlab.com or, if baseURL is set, with a self-hosted server.
// Blocked, deactivated and locked accounts are refused. On gitlab.com, a confirmed
// email address counts as verified. Self-hosted servers may be configured to confirm
// nothing: to trust yours, set Fields.EmailVerified to email_verified.
//
// https://docs.gitlab.com/api/oauth2/
func GitLab(c authsvc.Client, baseURL string) *authsvc.OAuth {
	base := withoutSlash(cmp.Or(baseURL, gitlabCom))
	o := &authsvc.OAuth{
		ID: "gitlab", Name: "GitLab", Client: c,
		Issuer: base, // only for the iss parameter
		Endpoints: authsvc.Endpoints{
			Authorization: base + "/oauth/authorize",
			Token:         base + "/oauth/token",
			UserInfo:      base + "/api/v4/user",
			Revocation:    base + "/oauth/revoke",
		},
		Scope: "read_user",
		Hooks: authsvc.Hooks{
			UserInfo: gitlabProfile,
		},
		Fields: authsvc.Fields{ID: "id", Name: "name|username", Image: "avatar_url"},
		Style:  authsvc.Style{Logo: "gitlab", Background: "#fc6d26", Text: "#000000"},
	}
	if base != gitlabCom {
		o.Fields.EmailVerified = never
	}
	return o
}

const gitlabCom = "https://gitlab.com"

// gitlabProfile refuses inactive accounts, and sets whether the email address was
// confirmed.
func gitlabProfile(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	profile, err := x.UserInfo(ctx)
	if err != nil {
		return nil, err
	}
	state, _ := profile["state"].(string)
	switch {
	case state == "":
		return nil, errors.New("gitlab: the profile has no state")
	case state != "active" || profile["locked"] != nil && profile["locked"] != false:
		return nil, fmt.Errorf("gitlab: the account is not active: %w", authsvc.ErrAccessDenied)
	}
	confirmed, _ := profile["confirmed_at"].(string)
	profile["email_verified"] = confirmed != ""
	return profile, nil
}
