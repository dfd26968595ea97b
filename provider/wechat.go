package provider

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"authsvc"
)

func weChatEntry() Entry {
	return Entry{
		ID: "wechat", Name: "WeChat", Protocol: "oauth2", Email: EmailAbsent,
		Docs: "https://developers.weixin.qq.com/doc/oplatform/en/Website_App/WeChat_Login/Wechat_Login.html",
		Options: []Option{
			{Key: "platform", Doc: "website (default) or official_account, which works inside the WeChat app", Example: "official_account"},
		},
		Notes: []string{
			"An official account has union ids only if it is bound to an account of the Open Platform; otherwise set profile.id to openid, which is valid for one app.",
		},
		New: weChat,
	}
}

// WeChat signs in with a WeChat account. platform is website, the default, for a code
// to scan, or official_account inside the WeChat app. The id (unionid) is the same in
// all apps of one Open Platform account. The profile has no email address.
//
// https://developers.weixin.qq.com/doc/oplatform/en/Website_App/WeChat_Login/Wechat_Login.html
func WeChat(c authsvc.Client, platform string) *authsvc.OAuth {
	o := &authsvc.OAuth{
		ID: "wechat", Name: "WeChat", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://open.weixin.qq.com/connect/qrconnect",
			Token:         "https://api.weixin.qq.com/sns/oauth2/access_token",
			UserInfo:      "https://api.weixin.qq.com/sns/userinfo",
		},
		Scope:                 "snsapi_login",
		AuthorizationFragment: "wechat_redirect",
		ClientIDParam:         "appid",
		Checks:                []string{"state"}, // PKCE is not supported
		UserInfo: authsvc.UserInfo{
			Auth: "query:access_token",
		},
		Hooks: authsvc.Hooks{
			ConformTokens: weChatAnswer,
		},
		Fields: authsvc.Fields{ID: "unionid", Name: "nickname", Email: never, Image: "headimgurl"},
		Style:  authsvc.Style{Logo: "wechat", Background: "#07c160", Text: "#000000"},
	}
	if platform == "official_account" {
		o.Endpoints.Authorization, o.Scope = "https://open.weixin.qq.com/connect/oauth2/authorize", "snsapi_userinfo"
	}
	o.Hooks.ExchangeCode = withCode("wechat", func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		q := url.Values{"grant_type": {"authorization_code"}, "code": {x.Code}, "appid": {x.Client.ID}, "secret": {x.Client.Secret}}
		return object(ctx, x, "wechat", authsvc.APIRequest{URL: o.Endpoints.Token + "?" + q.Encode()})
	})
	o.Hooks.RefreshTokens = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		q := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {x.Tokens.Text("refresh_token")}, "appid": {x.Client.ID}}
		return refreshTokens(ctx, x, "wechat", authsvc.APIRequest{URL: weChatRefreshURL(o.Endpoints.Token) + "?" + q.Encode()}, weChatInvalidGrant)
	}
	o.Hooks.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return weChatUser(ctx, o.Endpoints.UserInfo, x)
	}
	return o
}

// weChatRefreshURL returns the refresh endpoint, which is next to the token endpoint.
func weChatRefreshURL(tokenURL string) string {
	return tokenURL[:strings.LastIndex(tokenURL, "/")+1] + "refresh_token"
}

// weChatInvalidGrant reports whether the refresh token is invalid: unknown (40030),
// expired (42002), or void because the person changed the password (42007).
func weChatInvalidGrant(answer authsvc.Profile) bool {
	return textIs("errcode", "40030", "42002", "42007")(answer)
}

func weChatAnswer(answer authsvc.Profile) (authsvc.Profile, error) {
	answer["token_type"] = "Bearer" // WeChat omits it
	return answer, success("wechat", answer, "errcode", "", "0")
}

// weChatUser requests the profile of the person named in the token response.
func weChatUser(ctx context.Context, userInfoURL string, x *authsvc.Exchange) (authsvc.Profile, error) {
	openID := x.Tokens.Text("openid")
	if openID == "" {
		return nil, errors.New("wechat: the token answer has no openid")
	}
	q := url.Values{"openid": {openID}, "lang": {"zh_CN"}}
	profile, err := object(ctx, x, "wechat", authsvc.APIRequest{URL: userInfoURL + "?" + q.Encode(), WithToken: true})
	if err != nil {
		return nil, err
	}
	if err := success("wechat", profile, "errcode", "", "0"); err != nil {
		return nil, err
	}
	if profile.Text("openid") != openID {
		return nil, errors.New("wechat: the profile does not match the token")
	}
	return profile, nil
}

func weChat(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
	switch options["platform"] {
	case "", "website", "official_account":
		return WeChat(c, options["platform"]), nil
	}
	return nil, &OptionError{Key: "platform", Problem: "is not known", Fix: "write website or official_account"}
}
