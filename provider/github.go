package provider

import (
	"context"
	"errors"
	"fmt"

	"authsvc"
)

func gitHubEntry() Entry {
	return Entry{
		ID: "github", Name: "GitHub", Protocol: "oauth2", Email: EmailFiltered,
		Docs: "https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps",
		Notes: []string{
			"A GitHub App needs the account permission \"Email addresses: read\" for the email address.",
		},
		New: plain(GitHub),
	}
}

// GitHub signs in with an OAuth app or a GitHub App of github.com. The email address
// is the primary one if GitHub has verified it; otherwise there is none. For it, a
// GitHub App needs the account permission "Email addresses: read". For Enterprise
// Server, replace the issuer and the three URLs with those on your host.
//
// https://docs.github.com/en/apps/oauth-apps/building-oauth-apps/authorizing-oauth-apps
func GitHub(c authsvc.Client) *authsvc.OAuth {
	o := &authsvc.OAuth{
		ID: "github", Name: "GitHub", Client: c,
		Issuer: "https://github.com/login/oauth", // only for the iss parameter
		Endpoints: authsvc.Endpoints{
			Authorization: "https://github.com/login/oauth/authorize",
			Token:         "https://github.com/login/oauth/access_token",
			UserInfo:      "https://api.github.com/user",
		},
		Scope:  "read:user user:email",
		Fields: authsvc.Fields{ID: "id", Name: "name|login", Image: "avatar_url"},
		Style:  authsvc.Style{Logo: "github", Background: "#24292f", Text: "#ffffff"},
	}
	o.Hooks.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return githubProfile(ctx, o.Endpoints.UserInfo, x)
	}
	return o
}

// githubProfile replaces the public address of a profile, which may be unverified, with
// the address to which GitHub sends its own mail.
func githubProfile(ctx context.Context, url string, x *authsvc.Exchange) (authsvc.Profile, error) {
	v, err := x.Get(ctx, url)
	if err != nil {
		return nil, err
	}
	profile, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("github: the profile is not an object")
	}
	delete(profile, "email")
	delete(profile, "email_verified")
	if v, err = x.Get(ctx, url+"/emails?per_page=100"); err != nil {
		return nil, fmt.Errorf("github: email addresses: %w", err)
	}
	list, _ := v.([]any)
	for _, entry := range list {
		e, _ := entry.(map[string]any)
		if e["primary"] == true && e["verified"] == true {
			profile["email"], profile["email_verified"] = e["email"], true
		}
	}
	return profile, nil
}
