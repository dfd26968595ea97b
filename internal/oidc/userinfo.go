package oidc

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"authsvc/internal/strictjson"
)

// UserInfo fetches the userinfo endpoint (OpenID Connect Core 1.0, section 5.3)
// with the access token of tok. When wantSub is not empty, it is the sub of the
// ID token, and the answer must have the same: otherwise a stolen access token
// would bring another user's claims. A signed answer (application/jwt) is
// verified. Encrypted ones are not supported, and sources of aggregated or
// distributed claims are not fetched or believed.
func (p *Party) UserInfo(ctx context.Context, tok *Tokens, wantSub string) (Claims, error) {
	md, err := p.Metadata(ctx)
	if err != nil {
		return nil, err
	}
	if md.UserInfoURL == "" {
		return nil, errors.New("userinfo: the provider has no such endpoint")
	}
	claims, err := p.userInfo(ctx, md.UserInfoURL, tok.AccessToken)
	if err != nil {
		return nil, fmt.Errorf("userinfo: %w", err)
	}
	if wantSub != "" && claims["sub"] != wantSub {
		return nil, errors.New("userinfo: sub is not that of the id token")
	}
	return claims, nil
}

func (p *Party) userInfo(ctx context.Context, from, token string) (Claims, error) {
	req, err := p.userInfoRequest(ctx, from, token)
	if err != nil {
		return nil, err
	}
	a, err := p.userinfo.do(func() (*answer, error) { return p.ask(req, true) })
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		return nil, statusError(a.status)
	}
	if kind, _, _ := mime.ParseMediaType(a.contentType); kind == "application/jwt" {
		return p.signedUserInfo(ctx, strings.TrimSpace(string(a.body)))
	}
	return strictjson.Object(a.body)
}

func (p *Party) userInfoRequest(ctx context.Context, from, token string) (*http.Request, error) {
	method := http.MethodGet
	if p.cfg.UserInfoMethod != "" {
		method = p.cfg.UserInfoMethod
	}
	req, err := http.NewRequestWithContext(ctx, method, from, strings.NewReader(p.cfg.UserInfoBody))
	if err != nil {
		return nil, errors.New("malformed url")
	}
	setHeaders(req, p.cfg.UserInfoHeaders)
	switch body := strings.TrimSpace(p.cfg.UserInfoBody); {
	case body == "":
	case body[0] == '{' || body[0] == '[':
		req.Header.Set("Content-Type", "application/json")
	default:
		req.Header.Set("Content-Type", formType)
	}
	p.place.put(req, token)
	return req, nil
}
