package idp

import (
	"crypto/sha256"
	"crypto/subtle"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

var errInvalidGrant = &oauthError{code: "invalid_grant", description: "the code is unknown, expired, used, or was issued to another client, redirect_uri or code_challenge"}

// token serves POST /token (RFC 6749 §4.1.3, OpenID Connect Core §3.1.3).
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	client, g, err := p.redeem(r)
	if err != nil {
		p.tokenError(w, r, err)
		return
	}
	answer, err := p.issue(client, g)
	if err != nil {
		p.tokenError(w, r, err)
		return
	}
	if edit := p.fault().TokenAnswer; edit != nil {
		edit(answer)
	}
	w.Header().Set("Pragma", "no-cache")
	writeJSON(w, http.StatusOK, answer)
}

// redeem checks a token request and uses up its code.
func (p *Provider) redeem(r *http.Request) (Client, *grant, error) {
	if mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || mediaType != "application/x-www-form-urlencoded" {
		return Client{}, nil, invalidRequest("content type must be application/x-www-form-urlencoded")
	}
	if r.ParseForm() != nil {
		return Client{}, nil, invalidRequest("the form could not be read")
	}
	for _, values := range r.PostForm {
		if len(values) > 1 {
			return Client{}, nil, invalidRequest("a parameter is given more than once")
		}
	}
	client, err := p.authenticate(r)
	if err != nil {
		return Client{}, nil, err
	}
	switch r.PostForm.Get("grant_type") {
	case "authorization_code":
	case "":
		return Client{}, nil, invalidRequest("grant_type is missing")
	default:
		return Client{}, nil, &oauthError{"unsupported_grant_type", "grant_type must be authorization_code"}
	}
	g, err := p.spend(client, r.PostForm.Get("code"), r.PostForm.Get("redirect_uri"), r.PostForm.Get("code_verifier"))
	return client, g, err
}

// spend uses up a code. The first client that presents a code uses it up, even if the
// other checks fail. A second presentation revokes the tokens of the first one, because
// one of the two clients is a thief (RFC 6749 §4.1.2).
func (p *Provider) spend(client Client, code, redirectURI, verifier string) (*grant, error) {
	g, ok := p.codes.get(code)
	if !ok {
		return nil, errInvalidGrant
	}
	if g.spent.Swap(true) {
		g.revoked.Store(true)
		return nil, errInvalidGrant
	}
	if g.client.ID != client.ID || g.redirectURI != redirectURI || !verifies(g.challenge, verifier) {
		return nil, errInvalidGrant
	}
	return g, nil
}

// verifies checks a PKCE verifier (RFC 7636 §4.6). It also refuses a verifier without a
// challenge: an attacker has removed the challenge from the authorization request
// (RFC 9700 §4.8.2).
func verifies(challenge, verifier string) bool {
	if challenge == "" {
		return verifier == ""
	}
	sum := sha256.Sum256([]byte(verifier))
	return len(verifier) >= 43 && len(verifier) <= 128 &&
		subtle.ConstantTimeCompare([]byte(encode(sum[:])), []byte(challenge)) == 1
}

// issue returns the tokens of a grant.
func (p *Provider) issue(client Client, g *grant) (map[string]any, error) {
	access := p.tokens.put(g)
	answer := map[string]any{
		"access_token": access,
		"token_type":   "Bearer",
		"expires_in":   int(tokenLifetime / time.Second),
		"scope":        strings.Join(g.scopes, " "),
	}
	if !slices.Contains(g.scopes, "openid") {
		return answer, nil
	}
	idToken, err := p.signIDToken(client, p.idTokenClaims(g, access))
	if err != nil {
		return nil, err
	}
	answer["id_token"] = idToken
	return answer, nil
}

// tokenError answers with an error (RFC 6749 §5.2).
func (p *Provider) tokenError(w http.ResponseWriter, r *http.Request, err error) {
	protocol, ok := asOAuthError(err)
	if !ok {
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": "server_error"})
		return
	}
	status := http.StatusBadRequest
	if protocol == errInvalidClient {
		status = http.StatusUnauthorized
		if r.Header.Get("Authorization") != "" {
			w.Header().Set("WWW-Authenticate", `Basic realm="idp"`)
		}
	}
	w.Header().Set("Pragma", "no-cache")
	writeJSON(w, status, map[string]string{"error": protocol.code, "error_description": protocol.description})
}
