package provider

import (
	"cmp"
	"context"

	"authsvc"
)

func giteaEntry() Entry {
	return Entry{
		ID: "gitea", Name: "Gitea / Forgejo", Button: "Gitea", Aliases: []string{"forgejo"}, Protocol: "oauth2", Email: EmailFiltered,
		Docs: "https://docs.gitea.com/development/oauth2-provider",
		Options: []Option{
			{Key: "base_url", Doc: "the URL of the server; default: https://gitea.com", Example: "https://git.example.com"},
		},
		Notes: []string{
			"Email addresses from a server other than gitea.com do not count as verified by default. With trust_email: true, the addresses that the server reports as verified count.",
		},
		New: withDefault("base_url", Gitea),
	}
}

// Gitea signs in with a Gitea or Forgejo account. baseURL is the URL of the server,
// https://gitea.com if empty. The email address is the primary one if the server says
// it is verified; otherwise there is none. A server may be configured to call every
// address verified, so only gitea.com is trusted; to trust your server, set TrustEmail.
// Accounts that are inactive or may not sign in are refused.
//
// https://docs.gitea.com/development/oauth2-provider
func Gitea(c authsvc.Client, baseURL string) *authsvc.OAuth {
	base := withoutSlash(cmp.Or(baseURL, giteaCom))
	o := &authsvc.OAuth{
		ID: "gitea", Name: "Gitea", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: base + "/login/oauth/authorize",
			Token:         base + "/login/oauth/access_token",
			UserInfo:      base + "/api/v1/user",
		},
		Scope: "read:user", // for a scope that it does not know, Gitea issues tokens with full access
		Fields: authsvc.Fields{
			ID:            "id",
			Name:          "full_name|login",
			Email:         "emails[primary=true&verified=true].email",
			EmailVerified: never,
			Image:         "avatar_url",
		},
		Style: authsvc.Style{Logo: "gitea", Background: "#609926", Text: "#000000"},
	}
	if base == giteaCom {
		o.Fields.EmailVerified = giteaVerified
	}
	o.Hooks.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return giteaProfile(ctx, x, o)
	}
	return o
}

const (
	giteaCom      = "https://gitea.com"
	giteaVerified = "emails[primary=true&verified=true].verified"
)

func giteaProfile(ctx context.Context, x *authsvc.Exchange, o *authsvc.OAuth) (authsvc.Profile, error) {
	profile, err := x.UserInfo(ctx)
	if err != nil {
		return nil, err
	}
	if err := requireActive(o.ID, profile["active"], true); err != nil {
		return nil, err
	}
	if v, ok := profile["prohibit_login"]; ok {
		if err := requireActive(o.ID, v, false); err != nil {
			return nil, err
		}
	}
	return profile, addresses(ctx, o.ID, x, profile, o.Endpoints.UserInfo+"/emails")
}
