package provider

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"authsvc"
)

func deezerEntry() Entry {
	return Entry{
		ID: "deezer", Name: "Deezer", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://developers.deezer.com/api/oauth",
		Notes: []string{
			"Deezer reportedly accepts no new applications.",
		},
		New: plain(Deezer),
	}
}

// Deezer signs in with a Deezer account. It uses its own parameter names; Scope is sent
// as perms. The email address is unverified.
//
// https://developers.deezer.com/api/oauth
func Deezer(c authsvc.Client) *authsvc.OAuth {
	o := &authsvc.OAuth{
		ID: "deezer", Name: "Deezer", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://connect.deezer.com/oauth/auth.php",
			Token:         "https://connect.deezer.com/oauth/access_token.php",
			UserInfo:      "https://api.deezer.com/user/me",
		},
		Scope: "basic_access email",
		Hooks: authsvc.Hooks{
			Authorize:     deezerPerms,
			ConformTokens: deezerAnswer,
		},
		ClientIDParam: "app_id",
		Checks:        []string{"state"}, // PKCE is not supported
		UserInfo: authsvc.UserInfo{
			Auth: "query:access_token",
		},
		Fields: authsvc.Fields{ID: "id", Name: "name|{firstname} {lastname}", EmailVerified: never, Image: "picture"},
		Style:  authsvc.Style{Logo: "deezer", Background: "#a238ff", Text: "#ffffff"},
	}
	redeem := withCode("deezer", func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return object(ctx, x, "deezer", authsvc.APIRequest{URL: o.Endpoints.Token, Form: url.Values{
			"app_id": {x.Client.ID}, "secret": {x.Client.Secret}, "code": {x.Code}, "output": {"json"},
		}})
	})
	o.Hooks.ExchangeCode = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		if x.Callback("error_reason") == "user_denied" {
			return nil, fmt.Errorf("deezer: %w", authsvc.ErrAccessDenied)
		}
		return redeem(ctx, x)
	}
	return o
}

func deezerPerms(q url.Values) {
	q.Set("perms", strings.Join(strings.Fields(q.Get("scope")), ","))
	q.Del("scope")
}

// deezerAnswer renames the lifetime to expires_in and adds the token type.
func deezerAnswer(answer authsvc.Profile) (authsvc.Profile, error) {
	answer["expires_in"], answer["token_type"] = answer["expires"], "Bearer"
	return answer, nil
}
