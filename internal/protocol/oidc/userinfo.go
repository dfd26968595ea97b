package oidc

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"authsvc/internal/protocol/outbound"
	"authsvc/internal/text/strictjson"
)

// UserInfo fetches the userinfo endpoint (OpenID Connect Core 1.0, section 5.3) with
// the access token of tok. If wantSub, the sub of the ID token, is not empty, the
// answer must have the same sub: otherwise a stolen access token would bring another
// user's claims. A signed answer (application/jwt) is verified. Encrypted answers are
// not supported. Sources of aggregated or distributed claims are neither fetched nor
// trusted.
func (c *Client) UserInfo(ctx context.Context, tok *Tokens, wantSub string) (Claims, error) {
	md, err := c.Metadata(ctx)
	if err != nil {
		return nil, err
	}
	if md.UserInfoURL == "" {
		return nil, errors.New("userinfo: the provider has no such endpoint")
	}
	claims, err := c.userInfo(ctx, md.UserInfoURL, tok.AccessToken)
	if err != nil {
		return nil, fmt.Errorf("userinfo: %w", err)
	}
	if wantSub != "" && claims["sub"] != wantSub {
		return nil, errors.New("userinfo: sub is not the id token's sub")
	}
	return claims, nil
}

func (c *Client) userInfo(ctx context.Context, from, token string) (Claims, error) {
	req, err := c.userInfoRequest(ctx, from, token)
	if err != nil {
		return nil, err
	}
	a, err := c.userinfo.Do(func() (*outbound.Response, error) { return c.outbound.DoIdempotent(req) })
	if err != nil {
		return nil, err
	}
	if a.Status != http.StatusOK {
		return nil, outbound.StatusError(a.Status)
	}
	if kind, _, _ := mime.ParseMediaType(a.ContentType); kind == "application/jwt" {
		return c.signedUserInfo(ctx, strings.TrimSpace(string(a.Body)))
	}
	return strictjson.Object(a.Body)
}

func (c *Client) userInfoRequest(ctx context.Context, from, token string) (*http.Request, error) {
	method := http.MethodGet
	if c.cfg.UserInfoMethod != "" {
		method = c.cfg.UserInfoMethod
	}
	req, err := http.NewRequestWithContext(ctx, method, from, strings.NewReader(c.cfg.UserInfoBody))
	if err != nil {
		return nil, errors.New("malformed url")
	}
	outbound.SetHeaders(req, c.cfg.UserInfoHeaders)
	switch body := strings.TrimSpace(c.cfg.UserInfoBody); {
	case body == "":
	case body[0] == '{' || body[0] == '[':
		req.Header.Set("Content-Type", "application/json")
	default:
		req.Header.Set("Content-Type", outbound.FormType)
	}
	c.bearer.Set(req, token)
	return req, nil
}

// signedUserInfo verifies a userinfo answer of type application/jwt (OpenID Connect
// Core 1.0, section 5.3.2). iss and aud should be present; if they are, they must be
// right.
func (c *Client) signedUserInfo(ctx context.Context, raw string) (Claims, error) {
	claims, _, err := verifyJWS(ctx, raw, c.algs, plainJWT, c.verifySignature)
	if err != nil {
		return nil, err
	}
	check := claimsCheck{client: c, claims: claims, now: time.Now()}
	if _, there := claims["iss"]; there {
		if err := check.issuer(); err != nil {
			return nil, err
		}
	}
	if _, there := claims["aud"]; there && !slices.Contains(audiences(claims), any(c.cfg.ClientID)) {
		return nil, errors.New("aud is not this client")
	}
	if err := check.optionalTimes(); err != nil {
		return nil, err
	}
	return claims, check.kind()
}
