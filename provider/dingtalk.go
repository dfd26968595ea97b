package provider

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"authsvc"
)

func dingTalkEntry() Entry {
	return Entry{
		ID: "dingtalk", Name: "DingTalk", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://open.dingtalk.com/document/orgapp/tutorial-obtaining-user-personal-information",
		Notes: []string{
			"With scope: openid corpid, people choose a company, whose id is in the token response (token.corpId).",
		},
		New: plain(DingTalk),
	}
}

// DingTalk signs in with a DingTalk account. The id (unionId) is the same in all apps
// of one developer. The email address is unverified.
//
// https://open.dingtalk.com/document/orgapp/tutorial-obtaining-user-personal-information
func DingTalk(c authsvc.Client) *authsvc.OAuth {
	o := &authsvc.OAuth{
		ID: "dingtalk", Name: "DingTalk", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://login.dingtalk.com/oauth2/auth",
			Token:         "https://api.dingtalk.com/v1.0/oauth2/userAccessToken",
			UserInfo:      "https://api.dingtalk.com/v1.0/contact/users/me",
		},
		Scope:               "openid",
		AuthorizationParams: map[string]string{"prompt": "consent"},
		Checks:              []string{"state"}, // PKCE is not supported
		UserInfo: authsvc.UserInfo{
			Auth: "header:x-acs-dingtalk-access-token",
		},
		Hooks: authsvc.Hooks{
			ConformTokens: dingTalkAnswer,
		},
		Fields: authsvc.Fields{ID: "unionId", Name: "nick", EmailVerified: never, Image: "avatarUrl"},
		Style:  authsvc.Style{Background: "#007fff", Text: "#000000"},
	}
	o.Hooks.ExchangeCode = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return dingTalkTokens(ctx, o.Endpoints.Token, x)
	}
	o.Hooks.RefreshTokens = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return refreshTokens(ctx, x, "dingtalk", authsvc.APIRequest{URL: o.Endpoints.Token, JSON: map[string]string{
			"grantType": "refresh_token", "refreshToken": x.Tokens.Text("refresh_token"), "clientId": x.Client.ID, "clientSecret": x.Client.Secret,
		}}, dingTalkInvalidGrant)
	}
	return o
}

// dingTalkInvalidGrant reports whether the answer refuses the refresh token. Codes are
// words joined by dots, such as invalidParameter followed by the name of the parameter.
func dingTalkInvalidGrant(answer authsvc.Profile) bool {
	code := strings.ToLower(answer.Text("code"))
	return strings.Contains(code, "invalid") && strings.Contains(code, "refreshtoken")
}

// maxAuthCode is the maximum length, in bytes, of a code that the engine has not
// checked.
const maxAuthCode = 4 << 10

// dingTalkTokens redeems the code, which the callback carries under one of two names.
func dingTalkTokens(ctx context.Context, tokenURL string, x *authsvc.Exchange) (authsvc.Profile, error) {
	code := cmp.Or(x.Callback("authCode"), x.Code)
	if code == "" || len(code) > maxAuthCode || strings.ContainsFunc(code, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("dingtalk: the code is missing or malformed")
	}
	return object(ctx, x, "dingtalk", authsvc.APIRequest{URL: tokenURL, JSON: map[string]string{
		"grantType": "authorization_code", "code": code, "clientId": x.Client.ID, "clientSecret": x.Client.Secret,
	}})
}

// dingTalkAnswer gives the fields their standard names. It leaves corpId unchanged.
func dingTalkAnswer(answer authsvc.Profile) (authsvc.Profile, error) {
	answer["access_token"], answer["refresh_token"], answer["expires_in"] = answer["accessToken"], answer["refreshToken"], answer["expireIn"]
	answer["token_type"] = "Bearer"
	return answer, nil
}
