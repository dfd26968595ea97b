package oidc

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// maxAuthorizationURL is the maximum length, in bytes, of the URL that a browser is
// sent to. Longer URLs may be cut or refused on the way.
const maxAuthorizationURL = 8 << 10

// AuthRequest holds the values that differ between authorization requests. Empty fields
// are not sent.
type AuthRequest struct {
	// RedirectURI must be passed to Exchange again, unchanged.
	RedirectURI string
	// Scope is space separated.
	Scope string
	// State and Nonce are opaque to this package.
	State, Nonce string
	// CodeChallenge is the S256 challenge of RFC 7636: the unpadded base64url form of a
	// SHA-256 hash.
	CodeChallenge string
	// ResponseMode is for example "form_post".
	ResponseMode string
	// Params holds further parameters. request, request_uri and the parameters set by
	// the other fields or the configuration are refused.
	Params url.Values
	// Change edits the complete query. It must not change parameters that bind the
	// answer to the browser or say where the answer goes.
	Change func(url.Values) error
	// Fragment ends the URL; it stays in the browser.
	Fragment string
}

// AuthorizationURL returns the URL to send the browser to (RFC 6749, section 4.1.1).
// The response type is always "code". A query in the endpoint is kept, except for
// parameters set here.
func (c *Client) AuthorizationURL(ctx context.Context, r AuthRequest) (string, error) {
	md, err := c.Metadata(ctx)
	if err != nil {
		return "", err
	}
	query, err := c.authQuery(r)
	if err != nil {
		return "", fmt.Errorf("authorization request: %w", err)
	}
	u, err := url.Parse(md.AuthorizationURL)
	if err != nil {
		return "", errors.New("authorization endpoint: not a url")
	}
	all := u.Query()
	for _, name := range reservedParams {
		all.Del(name)
	}
	for name, values := range query {
		all[name] = values
	}
	if all, err = r.change(all); err != nil {
		return "", fmt.Errorf("authorization request: %w", err)
	}
	// A space as %20 is understood everywhere; "+" is not.
	u.RawQuery = strings.ReplaceAll(all.Encode(), "+", "%20")
	u.Fragment = r.Fragment
	location := u.String()
	if len(location) > maxAuthorizationURL {
		return "", errors.New("authorization request: too long")
	}
	return location, nil
}

// boundParams bind an answer to the request, each by its only value.
var boundParams = []string{"state", "nonce", "code_challenge", "code_challenge_method"}

// change lets Change edit a copy of the query.
func (r *AuthRequest) change(q url.Values) (url.Values, error) {
	if r.Change == nil {
		return q, nil
	}
	changed := url.Values{}
	for name, values := range q {
		changed[name] = slices.Clone(values)
	}
	if err := r.Change(changed); err != nil {
		return nil, err
	}
	for _, name := range boundParams {
		if !slices.Equal(q[name], changed[name]) {
			return nil, fmt.Errorf("parameter %s was changed", name)
		}
	}
	if changed.Has("redirect_uri") && !slices.Equal(q["redirect_uri"], changed["redirect_uri"]) {
		return nil, errors.New("parameter redirect_uri was changed")
	}
	return changed, nil
}

// reservedParams decide what an authorization request means. Neither the caller's
// parameters nor the query of a discovered endpoint may set them.
var reservedParams = []string{
	"client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce",
	"code_challenge", "code_challenge_method", "request", "request_uri",
}

// ReservedParam reports whether AuthRequest.Params must not contain a parameter.
func ReservedParam(name string) bool { return slices.Contains(reservedParams, name) }

func (c *Client) authQuery(r AuthRequest) (url.Values, error) {
	if r.RedirectURI == "" {
		return nil, errors.New("redirect uri is missing")
	}
	if r.CodeChallenge != "" && !s256Challenge(r.CodeChallenge) {
		return nil, errors.New("code challenge is not of method S256")
	}
	q := url.Values{}
	for name, values := range r.Params {
		q[name] = values
	}
	for _, name := range append([]string{c.cfg.ClientIDParam}, reservedParams...) {
		if q.Has(name) {
			return nil, fmt.Errorf("parameter %s is reserved", name)
		}
	}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set(cmp.Or(c.cfg.ClientIDParam, "client_id"), c.cfg.ClientID)
	set("response_type", "code")
	set("redirect_uri", r.RedirectURI)
	set("scope", r.Scope)
	set("state", r.State)
	set("nonce", r.Nonce)
	set("response_mode", r.ResponseMode)
	if r.CodeChallenge != "" {
		set("code_challenge", r.CodeChallenge)
		set("code_challenge_method", "S256")
	}
	return q, nil
}

func s256Challenge(s string) bool {
	hash, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(hash) == 32 && len(s) == 43
}
