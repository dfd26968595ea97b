package idp

import (
	"crypto"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"authsvc/internal/protocol/weburl"
)

// Client is an application that signs people in with this provider.
type Client struct {
	ID   string
	Name string // shown on the page; empty: the ID

	// Secret authenticates the client at the token endpoint. A client without Secret
	// and Key is public and must use PKCE.
	Secret string

	// Key verifies the client's assertions for private_key_jwt. It replaces Secret: the
	// client cannot authenticate in another way.
	Key crypto.PublicKey

	// RedirectURIs are compared as exact strings (RFC 9700 §2.1). An empty list accepts
	// every http or https URI of a loopback host, for development.
	RedirectURIs []string

	// Callback, if not empty, is a URI that ends with a slash. Redirect URIs that add one
	// segment of letters, digits, - and _ are accepted, too: a program has a callback for
	// each of its providers.
	Callback string
}

func (c Client) displayName() string {
	if c.Name != "" {
		return c.Name
	}
	return c.ID
}

// public reports whether the client has no credentials (RFC 6749 §2.1).
func (c Client) public() bool { return c.Secret == "" && c.Key == nil }

// allows reports whether an answer may be sent to the redirect URI.
func (c Client) allows(redirectURI string) bool {
	if segment, ok := strings.CutPrefix(redirectURI, c.Callback); ok && c.Callback != "" && plainSegment(segment) {
		return true
	}
	if len(c.RedirectURIs) > 0 {
		return slices.Contains(c.RedirectURIs, redirectURI)
	}
	u, err := parseRedirectURI(redirectURI)
	return err == nil && weburl.Loopback(u.Hostname())
}

// plainSegment reports whether s can be the ID of a provider, unescaped.
func plainSegment(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// indexClients checks the clients and returns them by ID.
func indexClients(list []Client) (map[string]Client, error) {
	clients := make(map[string]Client, len(list))
	var errs []error
	for i, c := range list {
		if c.ID == "" {
			errs = append(errs, fmt.Errorf("client %d: the id is missing", i))
			continue
		}
		if _, dup := clients[c.ID]; dup {
			errs = append(errs, fmt.Errorf("client %q: the id is used twice", c.ID))
		}
		if c.Secret != "" && c.Key != nil {
			errs = append(errs, fmt.Errorf("client %q: must not have both a secret and a key", c.ID))
		}
		if c.Callback != "" && !strings.HasSuffix(c.Callback, "/") {
			errs = append(errs, fmt.Errorf("client %q: callback %q must end with a slash", c.ID, c.Callback))
		}
		for _, raw := range c.RedirectURIs {
			if _, err := parseRedirectURI(raw); err != nil {
				errs = append(errs, fmt.Errorf("client %q: redirect URI %q: %w", c.ID, raw, err))
			}
		}
		c.RedirectURIs = slices.Clone(c.RedirectURIs)
		clients[c.ID] = c
	}
	return clients, errors.Join(errs...)
}

// parseRedirectURI accepts an absolute http or https URI without fragment (RFC 6749
// §3.1.2). It refuses bytes that user agents drop, rewrite or read as another
// delimiter, so that the parsed host is the host that the browser visits.
func parseRedirectURI(raw string) (*url.URL, error) {
	for _, c := range []byte(raw) {
		if c <= ' ' || c >= 0x7f || c == '\\' {
			return nil, errors.New("must not contain control, non-ASCII or backslash characters")
		}
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("not a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("must be an absolute http or https URL")
	case u.User != nil:
		return nil, errors.New("must not contain credentials")
	case strings.Contains(raw, "#"):
		return nil, errors.New("must not contain a fragment")
	}
	return u, nil
}

// errInvalidClient is the answer both for an unknown client and for a wrong secret, so
// that client IDs cannot be probed.
var errInvalidClient = &oauthError{code: "invalid_client", description: "client authentication failed"}

// authenticate returns the client that sent a token request. The form must be parsed.
// It supports client_secret_basic, client_secret_post, private_key_jwt and none.
func (p *Provider) authenticate(r *http.Request) (Client, error) {
	if r.PostForm.Has("client_assertion") || r.PostForm.Has("client_assertion_type") {
		return p.assertedClient(r)
	}
	id, secret := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	if r.Header.Get("Authorization") != "" {
		basicID, basicSecret, ok := basicCredentials(r)
		if !ok {
			return Client{}, errInvalidClient
		}
		// RFC 6749 §2.3: not more than one method in each request.
		if secret != "" || id != "" && id != basicID {
			return Client{}, invalidRequest("the request must not use two methods of client authentication")
		}
		id, secret = basicID, basicSecret
	}
	client, known := p.clients[id]
	if !equalSecrets(client.Secret, secret) || !known || client.Key != nil {
		return Client{}, errInvalidClient
	}
	return client, nil
}

// basicCredentials parses the Authorization header. Both halves are form-encoded before
// they are joined (RFC 6749 §2.3.1).
func basicCredentials(r *http.Request) (id, secret string, ok bool) {
	id, secret, ok = r.BasicAuth()
	if !ok {
		return "", "", false
	}
	id, errID := url.QueryUnescape(id)
	secret, errSecret := url.QueryUnescape(secret)
	return id, secret, errID == nil && errSecret == nil
}

// equalSecrets compares in constant time. Hashing also hides the lengths.
func equalSecrets(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}
