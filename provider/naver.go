package provider

import (
	"context"
	"net/url"

	"authsvc"
)

func naverEntry() Entry {
	return Entry{
		ID: "naver", Name: "Naver", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://developers.naver.com/docs/login/api/api.md",
		Notes: []string{
			"The registration of the app determines what a profile contains; there are no scopes.",
		},
		New: plain(Naver),
	}
}

// Naver signs in with a Naver account. Ids are specific to the app. The content of a
// profile is chosen when the app is registered. People can change their contact email
// address without confirming it.
//
// https://developers.naver.com/docs/login/api/api.md
func Naver(c authsvc.Client) *authsvc.OAuth {
	o := &authsvc.OAuth{
		ID: "naver", Name: "Naver", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://nid.naver.com/oauth2.0/authorize",
			Token:         "https://nid.naver.com/oauth2.0/token",
			UserInfo:      "https://openapi.naver.com/v1/nid/me",
		},
		Hooks: authsvc.Hooks{
			UserInfo: naverUser,
		},
		Fields: authsvc.Fields{
			ID:            "response.id",
			Name:          "response.nickname|response.name",
			Email:         "response.email",
			EmailVerified: never,
			Image:         "response.profile_image",
		},
		Style: authsvc.Style{Logo: "naver", Background: "#03c75a", Text: "#000000"},
	}
	o.Hooks.ExchangeCode = withCode("naver", func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return object(ctx, x, "naver", authsvc.APIRequest{URL: o.Endpoints.Token, Form: withState(x)})
	})
	o.Hooks.RefreshTokens = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return refreshTokens(ctx, x, "naver", authsvc.APIRequest{URL: o.Endpoints.Token, Form: withRefreshToken(x)}, textIs("error", "invalid_grant"))
	}
	return o
}

// withRefreshToken returns the standard refresh request with the client secret in the
// body.
func withRefreshToken(x *authsvc.Exchange) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {x.Tokens.Text("refresh_token")},
		"client_id": {x.Client.ID}, "client_secret": {x.Client.Secret}}
}

// withState returns the standard token request with the client secret and the state in
// the body.
func withState(x *authsvc.Exchange) url.Values {
	form := url.Values{"grant_type": {"authorization_code"}, "code": {x.Code}, "redirect_uri": {x.RedirectURI},
		"client_id": {x.Client.ID}, "client_secret": {x.Client.Secret}, "state": {x.State}}
	if x.Verifier != "" {
		form.Set("code_verifier", x.Verifier)
	}
	return form
}

func naverUser(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
	profile, err := x.UserInfo(ctx)
	if err != nil {
		return nil, err
	}
	return profile, success("naver", profile, "resultcode", "00")
}
