package provider

import (
	"cmp"
	"context"
	"errors"
	"net/url"

	"authsvc"
)

func pipedriveEntry() Entry {
	return Entry{
		ID: "pipedrive", Name: "Pipedrive", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://pipedrive.readme.io/docs/marketplace-oauth-authorization",
		New:  plain(Pipedrive),
	}
}

// Pipedrive signs in with a Pipedrive account. The profile is fetched from the
// company's own host, which the token response names. The scopes are set in the app,
// which needs at least base. The email address is unverified.
//
// https://pipedrive.readme.io/docs/marketplace-oauth-authorization
func Pipedrive(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "pipedrive", Name: "Pipedrive", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://oauth.pipedrive.com/oauth/authorize",
			Token:         "https://oauth.pipedrive.com/oauth/token",
			Revocation:    "https://oauth.pipedrive.com/oauth/revoke",
		},
		Hosts: []string{"*.pipedrive.com"},
		Hooks: authsvc.Hooks{
			UserInfo: pipedriveMe,
		},
		Fields: authsvc.Fields{
			ID:            "data.id",
			Name:          "data.name",
			Email:         "data.email",
			EmailVerified: never,
			Image:         "data.icon_url",
		},
		Style: authsvc.Style{Background: "#017737", Text: "#ffffff"},
	}
}

// pipedriveMe requests the profile from the company's host. Get refuses hosts that are
// not Pipedrive's.
func pipedriveMe(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	base := withoutSlash(cmp.Or(x.Tokens.Text("api_domain"), "https://api.pipedrive.com"))
	u, err := url.Parse(base)
	if err != nil || base != "https://"+u.Host {
		return nil, errors.New("pipedrive: api_domain of the token answer is not https://HOST")
	}
	v, err := x.Get(ctx, base+"/v1/users/me")
	if err != nil {
		return nil, err
	}
	profile, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("pipedrive: the profile is not an object")
	}
	return profile, nil
}
