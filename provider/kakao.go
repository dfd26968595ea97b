package provider

import (
	"context"

	"authsvc"
)

func kakaoEntry() Entry {
	return Entry{
		ID: "kakao", Name: "Kakao", Protocol: "oauth2", Email: EmailClaim,
		Docs: "https://developers.kakao.com/docs/latest/en/kakaologin/rest-api",
		Notes: []string{
			"Every item of the scope must be enabled as a consent item, otherwise Kakao answers KOE205. With scope: \"\", Kakao uses the enabled items.",
			"For an application without a client secret, set auth_method: none.",
		},
		New: plain(Kakao),
	}
}

// Kakao signs in with a Kakao account. The scope must match the consent items of the
// application; an empty scope requests all of them. An email address counts as
// verified if Kakao says that it was verified and still belongs to this person.
//
// https://developers.kakao.com/docs/latest/en/kakaologin/rest-api
func Kakao(c authsvc.Client) *authsvc.OAuth {
	return &authsvc.OAuth{
		ID: "kakao", Name: "Kakao", Client: c,
		Issuer: "https://kauth.kakao.com", // only for the iss parameter
		Endpoints: authsvc.Endpoints{
			Authorization: "https://kauth.kakao.com/oauth/authorize",
			Token:         "https://kauth.kakao.com/oauth/token",
			UserInfo:      "https://kapi.kakao.com/v2/user/me",
		},
		Scope:      "account_email profile_nickname profile_image",
		AuthMethod: "client_secret_post",
		Hooks: authsvc.Hooks{
			UserInfo: kakaoProfile,
		},
		Fields: authsvc.Fields{
			ID:    "id",
			Name:  "kakao_account.profile.nickname|properties.nickname|kakao_account.name",
			Email: "kakao_account.email",
			Image: "kakao_account.profile.profile_image_url|properties.profile_image",
		},
		Style: authsvc.Style{Background: "#fee500", Text: "#000000"},
	}
}

// kakaoProfile combines two flags. is_email_valid becomes false when another person has
// proved that the address is theirs.
func kakaoProfile(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	profile, err := x.UserInfo(ctx)
	if err != nil {
		return nil, err
	}
	account, _ := profile["kakao_account"].(map[string]any)
	profile["email_verified"] = account["is_email_valid"] == true && account["is_email_verified"] == true
	return profile, nil
}
