package provider

import (
	"context"
	"errors"
	"net/url"

	"authsvc"
)

func hubSpotEntry() Entry {
	return Entry{
		ID: "hubspot", Name: "HubSpot", Protocol: "oauth2", Email: EmailUnverified,
		Docs: "https://developers.hubspot.com/docs/api-reference/2026-03/authentication/oauth-tokens/token-introspect",
		Notes: []string{
			"The endpoints belong to version 2026-03; version 1 ends in February 2027.",
		},
		New: plain(HubSpot),
	}
}

// HubSpot signs in with a HubSpot account. The profile is HubSpot's information about
// the access token. The name is the email address, which is unverified. There is no
// picture.
//
// https://developers.hubspot.com/docs/api-reference/2026-03/authentication/oauth-tokens/token-introspect
func HubSpot(c authsvc.Client) *authsvc.OAuth {
	o := &authsvc.OAuth{
		ID: "hubspot", Name: "HubSpot", Client: c,
		Endpoints: authsvc.Endpoints{
			Authorization: "https://app.hubspot.com/oauth/authorize",
			Token:         "https://api.hubapi.com/oauth/2026-03/token",
			UserInfo:      "https://api.hubapi.com/oauth/2026-03/token/introspect",
		},
		Scope:      "oauth",
		AuthMethod: "client_secret_post",
		Fields:     authsvc.Fields{ID: "user_id", Name: "user", Email: "user", EmailVerified: never, Image: never},
		Style:      authsvc.Style{Logo: "hubspot", Background: "#ff7a59", Text: "#000000"},
	}
	o.Hooks.UserInfo = func(ctx context.Context, x *authsvc.Exchange) (authsvc.Profile, error) {
		return hubSpotToken(ctx, o.Endpoints.UserInfo, x)
	}
	return o
}

// hubSpotToken returns HubSpot's information about the access token (RFC 7662).
func hubSpotToken(ctx context.Context, introspection string, x *authsvc.Exchange) (authsvc.Profile, error) {
	token, _ := x.Tokens["access_token"].(string)
	v, err := x.Do(ctx, authsvc.APIRequest{URL: introspection, Form: url.Values{
		"token": {token}, "token_type_hint": {"access_token"}, "client_id": {x.Client.ID}, "client_secret": {x.Client.Secret},
	}})
	if err != nil {
		return nil, err
	}
	about, _ := v.(map[string]any)
	if about["active"] != true || about["client_id"] != x.Client.ID {
		return nil, errors.New("hubspot: the token is not active, or belongs to another app")
	}
	return about, nil
}
