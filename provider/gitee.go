package provider

import (
	"context"
	"slices"

	"authsvc"
)

func giteeEntry() Entry {
	return Entry{
		ID: "gitee", Name: "Gitee", Protocol: "oauth2", Email: EmailFiltered,
		Docs: "https://gitee.com/api/v5/oauth_doc",
		New:  plain(Gitee),
	}
}

// Gitee signs in with a gitee.com account. The profile's address may be any text. The
// email address is therefore the primary one in the list of addresses if Gitee has
// confirmed it; otherwise there is none.
//
// https://gitee.com/api/v5/oauth_doc
func Gitee(c authsvc.Client) *authsvc.OAuth {
	o := &authsvc.OAuth{
		ID: "gitee", Name: "Gitee", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://gitee.com/oauth/authorize",
			Token:         "https://gitee.com/oauth/token",
			UserInfo:      "https://gitee.com/api/v5/user",
		},
		Scope:      "user_info emails",
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "id", Name: "name|login", Image: "avatar_url"},
		Style:      authsvc.Style{Logo: "gitee", Background: "#c71d23", Text: "#ffffff"},
	}
	o.Hooks.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		profile, err := x.UserInfo(ctx)
		if err != nil {
			return nil, err
		}
		if err := addresses(ctx, o.ID, x, profile, "https://gitee.com/api/v5/emails"); err != nil {
			return nil, err
		}
		giteeAddress(profile)
		return profile, nil
	}
	return o
}

// giteeAddress replaces the address of a profile with the confirmed primary one of its
// list. There, scope names the purpose of an address.
func giteeAddress(profile authsvc.Profile) {
	delete(profile, "email")
	delete(profile, "email_verified")
	list, _ := profile["emails"].([]any)
	for _, entry := range list {
		e, _ := entry.(map[string]any)
		uses, _ := e["scope"].([]any)
		if e["state"] == "confirmed" && slices.Contains(uses, any("primary")) {
			profile["email"], profile["email_verified"] = e["email"], true
			return
		}
	}
}
