package oidc

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxCode bounds an authorization code, in bytes. Real ones stay below 2 KiB.
const maxCode = 4 << 10

// Exchange redeems an authorization code at the token endpoint (RFC 6749,
// section 4.1.3). redirectURI is that of the authorization request, verifier the
// PKCE code verifier (RFC 7636, section 4.5) or empty.
//
// A code is good for one request, so a failed one is never retried. (net/http
// may change connections while not a byte of the request has been taken.) A
// refusal by the provider is a [*TokenError]; a fault that may pass is
// [ErrUnavailable].
//
// The request is written here rather than by golang.org/x/oauth2 because that
// package reads the answer leniently: it cuts long bodies silently, takes the
// last of duplicate members and names in any case, does not look at token_type
// and quotes the body in errors. Tests hold the two against each other.
func (p *Party) Exchange(ctx context.Context, code, redirectURI, verifier string) (*Tokens, error) {
	if code == "" || len(code) > maxCode || strings.ContainsFunc(code, notPrintable) {
		return nil, errors.New("token request: code is empty, too long or not printable")
	}
	md, err := p.Metadata(ctx)
	if err != nil {
		return nil, err
	}
	req, err := p.tokenRequest(ctx, md, code, redirectURI, verifier)
	if err != nil {
		return nil, fmt.Errorf("token request: %w", err)
	}
	a, err := p.send(req, p.cfg.TokenHeaders)
	if err != nil {
		return nil, fmt.Errorf("token endpoint: %w", err)
	}
	tokens, err := parseTokens(a, p.cfg.ConformToken, time.Now())
	if err != nil {
		return nil, fmt.Errorf("token endpoint: %w", redact(err, code, verifier, p.cfg.ClientSecret))
	}
	if p.cfg.OpenID && tokens.IDToken == "" {
		return nil, errors.New("token endpoint: id_token is missing")
	}
	return tokens, nil
}

func (p *Party) tokenRequest(ctx context.Context, md *Metadata, code, redirectURI, verifier string) (*http.Request, error) {
	form := url.Values{
		"grant_type":   {"authorization_code"},
		"code":         {code},
		"redirect_uri": {redirectURI},
	}
	if verifier != "" {
		form.Set("code_verifier", verifier)
	}
	method := p.authMethod(md)
	if method != ClientSecretBasic {
		form.Set("client_id", p.cfg.ClientID)
	}
	if method == ClientSecretPost {
		form.Set("client_secret", p.cfg.ClientSecret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, md.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, errors.New("malformed url")
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if method == ClientSecretBasic {
		// RFC 6749, section 2.3.1: form encoding first, then RFC 7617.
		req.SetBasicAuth(url.QueryEscape(p.cfg.ClientID), url.QueryEscape(p.cfg.ClientSecret))
	}
	return req, nil
}

func (p *Party) authMethod(md *Metadata) string {
	switch {
	case p.cfg.AuthMethod != "":
		return p.cfg.AuthMethod
	case p.cfg.ClientSecret == "":
		return AuthNone
	case md.postOnly:
		return ClientSecretPost
	}
	return ClientSecretBasic
}

// notPrintable reports whether r is outside the printable ASCII characters and
// space, which is what RFC 6749, appendix A, allows in a code.
func notPrintable(r rune) bool { return r < 0x20 || r > 0x7e }
