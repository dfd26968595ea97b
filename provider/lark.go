package provider

import (
	"cmp"
	"context"

	"authsvc"
)

func larkEntry() Entry {
	return Entry{
		ID: "lark", Name: "Lark / Feishu", Button: "Lark", Aliases: []string{"feishu"}, Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://open.feishu.cn/document/common-capabilities/sso/api/get-user-info",
		Options: []Option{
			{Key: "domain", Doc: "feishu.cn (default) or larksuite.com", Example: "larksuite.com"},
		},
		Notes: []string{
			"Users of Lark, outside China, sign in with domain: larksuite.com.",
			"For a refresh token, set scope: offline_access, which must be allowed for the app.",
		},
		New: lark,
	}
}

// Lark signs in with a Feishu account or, if domain is larksuite.com, with a Lark
// account. The default domain is feishu.cn. The id (union_id) is the same in all apps
// of one developer. Email addresses come from the tenant or the person and are
// unverified.
//
// https://open.feishu.cn/document/common-capabilities/sso/api/get-user-info
func Lark(c authsvc.Client, domain string) *authsvc.OAuth {
	domain = cmp.Or(domain, "feishu.cn")
	o := &authsvc.OAuth{
		ID: "lark", Name: "Lark", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://accounts." + domain + "/open-apis/authen/v1/authorize",
			Token:         "https://open." + domain + "/open-apis/authen/v2/oauth/token",
			UserInfo:      "https://open." + domain + "/open-apis/authen/v1/user_info",
		},
		Hooks: authsvc.Hooks{
			ConformTokens: larkAnswer,
			UserInfo:      larkUser,
		},
		Fields: authsvc.Fields{
			ID:            "data.union_id",
			Name:          "data.name|data.en_name",
			Email:         "data.enterprise_email|data.email",
			EmailVerified: never,
			Image:         "data.avatar_url",
		},
		Style: authsvc.Style{Background: "#3370ff", Text: "#000000"},
	}
	o.Hooks.ExchangeCode = withCode("lark", func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return larkTokens(ctx, o.Endpoints.Token, x)
	})
	o.Hooks.RefreshTokens = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return refreshTokens(ctx, x, "lark", authsvc.APIRequest{URL: o.Endpoints.Token, JSON: map[string]string{
			"grant_type": "refresh_token", "refresh_token": x.Tokens.Text("refresh_token"), "client_id": x.Client.ID, "client_secret": x.Client.Secret,
		}}, larkInvalidGrant)
	}
	return o
}

// larkInvalidGrant reports whether the refresh token is invalid. 20024 means that it
// belongs to another client, 20026 unknown, 20037 expired, 20064 revoked, 20073 already
// used.
func larkInvalidGrant(answer authsvc.Profile) bool {
	return textIs("code", "20024", "20026", "20037", "20064", "20073")(answer) || textIs("error", "invalid_grant")(answer)
}

// larkTokens sends the standard token request with its parameters as JSON.
func larkTokens(ctx context.Context, tokenURL string, x *authsvc.Exchange) (authsvc.Profile, error) {
	params := map[string]string{"grant_type": "authorization_code", "code": x.Code, "redirect_uri": x.RedirectURI,
		"client_id": x.Client.ID, "client_secret": x.Client.Secret}
	if x.Verifier != "" {
		params["code_verifier"] = x.Verifier
	}
	return object(ctx, x, "lark", authsvc.APIRequest{URL: tokenURL, JSON: params})
}

func larkAnswer(answer authsvc.Profile) (authsvc.Profile, error) {
	return answer, success("lark", answer, "code", "0")
}

func larkUser(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	profile, err := x.UserInfo(ctx)
	if err != nil {
		return nil, err
	}
	return profile, success("lark", profile, "code", "0")
}

func lark(c authsvc.Client, options map[string]string) (authsvc.Provider, error) {
	switch options["domain"] {
	case "", "feishu.cn", "larksuite.com":
		return Lark(c, options["domain"]), nil
	}
	return nil, &OptionError{Key: "domain", Problem: "is not a domain of Lark", Fix: "write feishu.cn or larksuite.com"}
}
