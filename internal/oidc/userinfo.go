package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/url"
)

// UserInfo fetches the userinfo endpoint (OpenID Connect Core 1.0, section 5.3)
// with the access token of tok. When wantSub is not empty, it is the sub of the
// ID token, and the answer must have the same: otherwise a stolen access token
// would bring another user's claims. Only plain JSON answers are supported;
// signed ones, and sources of aggregated or distributed claims, are not fetched
// or believed.
func (p *Party) UserInfo(ctx context.Context, tok *Tokens, wantSub string) (Claims, error) {
	md, err := p.Metadata(ctx)
	if err != nil {
		return nil, err
	}
	if md.UserInfoURL == "" {
		return nil, errors.New("userinfo: the provider has no such endpoint")
	}
	body, err := p.get(ctx, md.UserInfoURL, tok.AccessToken, p.cfg.UserInfoHeaders)
	if err != nil {
		return nil, fmt.Errorf("userinfo: %w", err)
	}
	claims, err := decodeObject(body)
	if err != nil {
		return nil, fmt.Errorf("userinfo: %w", err)
	}
	if wantSub != "" && claims["sub"] != wantSub {
		return nil, errors.New("userinfo: sub is not that of the id token")
	}
	return claims, nil
}

// GetJSON fetches a further document with the access token of tok, for providers
// that keep part of a profile elsewhere, such as GitHub's list of e-mail
// addresses. The host and port of from must be among those that the
// configuration names, so the token goes nowhere new. headers are added to the
// request. The result is a [Claims] for an object, else what a member of Claims
// may be.
func (p *Party) GetJSON(ctx context.Context, from string, tok *Tokens, headers map[string]string) (any, error) {
	if err := checkURL(from); err != nil {
		return nil, fmt.Errorf("further request: %w", err)
	}
	if err := checkHeaders("further request", headers); err != nil {
		return nil, err
	}
	u, err := url.Parse(from)
	if err != nil || !p.hosts[hostPort(u)] {
		return nil, errors.New("further request: the configuration does not name this host")
	}
	body, err := p.get(ctx, from, tok.AccessToken, headers)
	if err != nil {
		return nil, fmt.Errorf("further request: %w", err)
	}
	v, err := decodeJSON(body)
	if err != nil {
		return nil, fmt.Errorf("further request: %w", err)
	}
	if object, ok := v.(map[string]any); ok {
		return Claims(object), nil
	}
	return v, nil
}
