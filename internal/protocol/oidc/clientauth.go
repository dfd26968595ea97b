package oidc

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"authsvc/internal/protocol/outbound"
)

// Methods of client authentication at the token endpoint (OpenID Connect Core 1.0,
// section 9).
const (
	ClientSecretBasic = "client_secret_basic"
	ClientSecretPost  = "client_secret_post"
	PrivateKeyJWT     = "private_key_jwt" // a JWT signed for every request (RFC 7523)
	AuthNone          = "none"
)

// credential returns the client's credential for one request: its secret, or an
// assertion made for this request alone.
func (c *Client) credential(md *Metadata, own string) (string, error) {
	switch {
	case c.cfg.AuthMethod == PrivateKeyJWT:
		return c.assertion(md, time.Now())
	case c.cfg.SecretPerGrant:
		return own, nil
	}
	return c.cfg.ClientSecret, nil
}

// clientRequest makes a POST of form with client authentication. secret is the result
// of credential. The request is for the token endpoint, or for another endpoint with
// the same authentication (RFC 7009, section 2.1).
func (c *Client) clientRequest(ctx context.Context, md *Metadata, to string, form url.Values, secret string) (*http.Request, error) {
	method := c.authMethod(md)
	if method != ClientSecretBasic {
		form.Set(cmp.Or(c.cfg.ClientIDParam, "client_id"), c.cfg.ClientID)
	}
	switch method {
	case ClientSecretPost:
		form.Set("client_secret", secret)
	case PrivateKeyJWT:
		form.Set("client_assertion_type", assertionType)
		form.Set("client_assertion", secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("malformed url")
	}
	outbound.SetHeaders(req, c.cfg.TokenHeaders)
	req.Header.Set("Content-Type", outbound.FormType)
	if method == ClientSecretBasic {
		// RFC 6749, section 2.3.1: form encoding first, then RFC 7617.
		req.SetBasicAuth(url.QueryEscape(c.cfg.ClientID), url.QueryEscape(secret))
	}
	return req, nil
}

func (c *Client) authMethod(md *Metadata) string {
	switch {
	case c.cfg.AuthMethod != "":
		return c.cfg.AuthMethod
	case c.cfg.ClientSecret == "" && !c.cfg.SecretPerGrant:
		return AuthNone
	case md.postOnly:
		return ClientSecretPost
	}
	return ClientSecretBasic
}
