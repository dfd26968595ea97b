package provider

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"

	"authsvc"
)

func vkEntry() Entry {
	return Entry{
		ID: "vk", Name: "VK", Aliases: []string{"vkid"}, Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://id.vk.com/about/business/go/docs/ru/vkid/latest/vk-id/connection/api-integration/api-description",
		Notes: []string{
			"The app must be a VK ID app; apps of the former service at oauth.vk.com do not work.",
		},
		New: plain(VK),
	}
}

// VK signs in with VK ID. Apps of the former service at oauth.vk.com do not work with
// it. The email address is unverified; the flag verified is the badge of a page.
//
// https://id.vk.com/about/business/go/docs/ru/vkid/latest/vk-id/connection/api-integration/api-description
func VK(c authsvc.Client) *authsvc.OAuth {
	o := &authsvc.OAuth{
		ID: "vk", Name: "VK", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://id.vk.com/authorize",
			Token:         "https://id.vk.com/oauth2/auth",
			UserInfo:      "https://id.vk.com/oauth2/user_info",
		},
		Scope: "email",
		Fields: authsvc.Fields{
			ID:            "user.user_id",
			Name:          "{user.first_name} {user.last_name}",
			Email:         "user.email",
			EmailVerified: never,
			Image:         "user.avatar",
		},
		Style: authsvc.Style{Logo: "vk", Background: "#0077ff", Text: "#000000"},
	}
	o.Hooks.ExchangeCode = withCode("vk", func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return vkTokens(ctx, o.Endpoints.Token, x)
	})
	o.Hooks.RefreshTokens = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return vkRefreshed(ctx, o.Endpoints.Token, x)
	}
	o.Hooks.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return vkUser(ctx, o.Endpoints.UserInfo, x)
	}
	return o
}

// vkTokens sends the device that received the code, and the state, which VK returns.
func vkTokens(ctx context.Context, tokenURL string, x *authsvc.Exchange) (authsvc.Profile, error) {
	device := x.Callback("device_id")
	if device == "" || len(device) > 512 {
		return nil, errors.New("vk: device_id is missing or too long")
	}
	form := withState(x)
	form.Set("device_id", device)
	answer, err := object(ctx, x, "vk", authsvc.APIRequest{URL: tokenURL, Form: form})
	if err != nil {
		return nil, err
	}
	if err := vkState(answer, x.State); err != nil {
		return nil, err
	}
	if len(device) <= maxKept {
		answer["session_state"] = device
	}
	return answer, nil
}

// maxKept is the maximum length of session_state in bytes: some databases migrated from
// other libraries have a column of that length.
const maxKept = 191

// vkRefreshed sends the device that signed in, which the account stores as
// session_state, and a fresh state.
func vkRefreshed(ctx context.Context, tokenURL string, x *authsvc.Exchange) (authsvc.Profile, error) {
	device := x.Tokens.Text("session_state")
	if device == "" {
		return nil, fmt.Errorf("vk: the device of the sign-in is not stored: %w", authsvc.ErrNoToken)
	}
	form := withRefreshToken(x)
	form.Set("device_id", device)
	form.Set("state", rand.Text())
	answer, err := refreshTokens(ctx, x, "vk", authsvc.APIRequest{URL: tokenURL, Form: form}, textIs("error", "invalid_grant", "invalid_token"))
	if err != nil {
		return nil, err
	}
	if err := vkState(answer, form.Get("state")); err != nil {
		return nil, err
	}
	return answer, nil
}

// vkUser posts the access token, and refuses a profile that is not the token's user.
func vkUser(ctx context.Context, userInfoURL string, x *authsvc.Exchange) (authsvc.Profile, error) {
	profile, err := object(ctx, x, "vk", authsvc.APIRequest{URL: userInfoURL, Form: url.Values{
		"access_token": {x.Tokens.Text("access_token")}, "client_id": {x.Client.ID},
	}})
	if err != nil {
		return nil, err
	}
	if id := x.Tokens.Text("user_id"); id != "" && id != profile.Text("user.user_id") {
		return nil, errors.New("vk: the profile does not match the token")
	}
	return profile, nil
}

// vkState refuses a token response whose state differs from the request's.
func vkState(answer authsvc.Profile, sent string) error {
	state, _ := answer["state"].(string)
	if _, came := answer["state"]; came && subtle.ConstantTimeCompare([]byte(state), []byte(sent)) != 1 {
		return errors.New("vk: the token answer has another state")
	}
	return nil
}
