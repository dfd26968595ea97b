package provider

import (
	"context"

	"authsvc"
)

func bitbucketEntry() Entry {
	return Entry{
		ID: "bitbucket", Name: "Bitbucket", Protocol: "oauth2", Email: EmailFiltered,
		Docs: "https://developer.atlassian.com/cloud/bitbucket/oauth-2/",
		Notes: []string{
			"The consumer needs the permission \"Account: read\".",
			"Accounts are identified by account_id; with profile.id: uuid by the UUID, as in some libraries.",
		},
		New: plain(Bitbucket),
	}
}

// Bitbucket signs in with a Bitbucket Cloud account. The id is the account_id, as in
// Auth.js. To take over accounts from libraries that use the uuid, set Fields.ID to
// uuid. The email address is the primary one if Bitbucket has confirmed it; otherwise
// there is none. Inactive accounts are refused.
//
// https://developer.atlassian.com/cloud/bitbucket/oauth-2/
func Bitbucket(c authsvc.Client) *authsvc.OAuth {
	o := &authsvc.OAuth{
		ID: "bitbucket", Name: "Bitbucket", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://bitbucket.org/site/oauth2/authorize",
			Token:         "https://bitbucket.org/site/oauth2/access_token",
			UserInfo:      "https://api.bitbucket.org/2.0/user",
		},
		Scope:  "account",
		NoPKCE: true, // PKCE is not supported
		Fields: authsvc.Fields{
			ID:            "account_id",
			Name:          "display_name|username",
			Email:         "emails.values[is_primary=true&is_confirmed=true].email",
			EmailVerified: "emails.values[is_primary=true&is_confirmed=true].is_confirmed",
			Image:         "links.avatar.href",
		},
		Style: authsvc.Style{Logo: "bitbucket", Background: "#205081", Text: "#ffffff"},
	}
	o.Hooks.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		profile, err := x.UserInfo(ctx)
		if err != nil {
			return nil, err
		}
		if err := requireActive(o.ID, profile.Text("account_status"), "active"); err != nil {
			return nil, err
		}
		return profile, addresses(ctx, o.ID, x, profile, o.Endpoints.UserInfo+"/emails")
	}
	return o
}
