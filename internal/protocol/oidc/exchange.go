package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"authsvc/internal/protocol/outbound"
)

// maxCode is the maximum length of an authorization code, in bytes. Real ones are
// shorter than 2 KiB.
const maxCode = 4 << 10

// A Grant holds the authorization code to exchange and its parameters.
type Grant struct {
	Code string
	// RedirectURI is the one in the authorization request.
	RedirectURI string
	// Verifier is the PKCE code verifier (RFC 7636, section 4.5) or empty.
	Verifier string
	// Secret is the client secret, with Config.SecretPerGrant.
	Secret string
	// Conform may correct the decoded answer of a provider that violates RFC 6749
	// before it is checked. Nil: no correction.
	Conform func(Claims) (Claims, error)
}

// Exchange exchanges an authorization code for tokens at the token endpoint (RFC 6749,
// section 4.1.3).
//
// A code is valid for one request, so a failed request is never retried. (net/http
// may try another connection if no byte of the request was sent.) If the provider
// refuses, the error is a [*TokenError]. If the fault may be temporary, it is
// [outbound.ErrUnavailable].
//
// The request does not use golang.org/x/oauth2, because that package reads the answer
// leniently: it silently truncates long bodies, takes the last of duplicate members,
// accepts names in any case, ignores token_type and quotes the body in errors. A test
// compares the two.
func (c *Client) Exchange(ctx context.Context, g Grant) (*Tokens, error) {
	if g.Code == "" || len(g.Code) > maxCode || strings.ContainsFunc(g.Code, notPrintable) {
		return nil, errors.New("token request: code is empty, too long or not printable")
	}
	md, err := c.Metadata(ctx)
	if err != nil {
		return nil, err
	}
	if g.Secret, err = c.credential(md, g.Secret); err != nil {
		return nil, fmt.Errorf("token request: %w", err)
	}
	req, err := c.tokenRequest(ctx, md, g)
	if err != nil {
		return nil, fmt.Errorf("token request: %w", err)
	}
	a, err := c.token.Do(func() (*outbound.Response, error) { return c.outbound.Do(req) })
	if err != nil {
		return nil, fmt.Errorf("token endpoint: %w", err)
	}
	fields, err := responseFields(a)
	if err == nil {
		var tokens *Tokens
		if tokens, err = c.ParseTokens(fields, g); err == nil {
			return tokens, nil
		}
	}
	return nil, fmt.Errorf("token endpoint: %w", redact(err, g.Code, g.Verifier, g.Secret))
}

// ParseTokens reads the members of a token response as [Client.Exchange] does, for a
// response that came another way.
func (c *Client) ParseTokens(fields Claims, g Grant) (*Tokens, error) {
	tokens, err := readTokens(fields, g.Conform, time.Now())
	switch {
	case err != nil:
		return nil, redact(err, g.Code, g.Verifier, g.Secret)
	case c.cfg.OpenID && tokens.IDToken == "":
		return nil, errors.New("id_token is missing")
	}
	return tokens, nil
}

// ReservedTokenParam reports whether Config.TokenParams must not contain a parameter.
func ReservedTokenParam(name string) bool {
	return slices.Contains([]string{"grant_type", "code", "redirect_uri", "code_verifier", "client_id", "client_secret", "client_assertion", "client_assertion_type", "refresh_token"}, name)
}

func (c *Client) tokenRequest(ctx context.Context, md *Metadata, g Grant) (*http.Request, error) {
	form := url.Values{
		"grant_type":   {"authorization_code"},
		"code":         {g.Code},
		"redirect_uri": {g.RedirectURI},
	}
	for name, value := range c.cfg.TokenParams {
		form.Set(name, value)
	}
	if g.Verifier != "" {
		form.Set("code_verifier", g.Verifier)
	}
	return c.clientRequest(ctx, md, md.TokenURL, form, g.Secret)
}

// notPrintable reports whether r is neither a printable ASCII character nor a space.
// RFC 6749, appendix A, allows only these in a code.
func notPrintable(r rune) bool { return r < 0x20 || r > 0x7e }
