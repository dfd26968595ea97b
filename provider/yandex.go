package provider

import (
	"context"

	"authsvc"
)

func yandexEntry() Entry {
	return Entry{
		ID: "yandex", Name: "Yandex", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://yandex.com/dev/id/doc/en/codes/code-url",
		New:  plain(Yandex),
	}
}

// Yandex signs in with a Yandex ID. The email address may belong to another service
// and is unverified.
//
// https://yandex.com/dev/id/doc/en/codes/code-url
func Yandex(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "yandex", Name: "Yandex", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://oauth.yandex.com/authorize",
			Token:         "https://oauth.yandex.com/token",
			UserInfo:      "https://login.yandex.ru/info?format=json",
			Revocation:    "https://oauth.yandex.com/revoke_token",
		},
		UserInfo: authsvc.UserInfo{
			Auth: "header:Authorization OAuth",
		},
		Scope: "login:info login:email login:avatar",
		Hooks: authsvc.Hooks{
			UserInfo: yandexInfo,
		},
		Fields: authsvc.Fields{
			ID:            "id",
			Name:          "display_name|real_name|first_name|login",
			Email:         "default_email|emails[0]",
			EmailVerified: never,
			Image:         "https://avatars.yandex.net/get-yapic/{default_avatar_id}/islands-200",
		},
		Style: authsvc.Style{Background: "#ffcc00", Text: "#000000"},
	}
}

// yandexInfo removes the placeholder picture of people without one.
func yandexInfo(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	profile, err := x.UserInfo(ctx)
	if err != nil {
		return nil, err
	}
	if profile["is_avatar_empty"] != false {
		delete(profile, "default_avatar_id")
	}
	return profile, nil
}
