package idp

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// idTokenClaims returns the claims of an ID token (OpenID Connect Core §2).
func (p *Provider) idTokenClaims(g *grant, accessToken string) map[string]any {
	now := time.Now()
	claims := p.personClaims(g)
	claims["iss"] = p.issuer
	claims["aud"] = g.client.ID
	claims["iat"] = now.Unix()
	claims["exp"] = now.Add(tokenLifetime).Unix()
	claims["auth_time"] = g.authTime.Unix()
	claims["at_hash"] = atHash(accessToken)
	if g.nonce != "" {
		claims["nonce"] = g.nonce
	}
	return claims
}

// atHash returns the left half of the hash of the access token
// (OpenID Connect Core §3.1.3.6): SHA-256 for both RS256 and ES256.
func atHash(accessToken string) string {
	sum := sha256.Sum256([]byte(accessToken))
	return encode(sum[:len(sum)/2])
}

// personClaims returns sub and the claims of the granted scopes
// (OpenID Connect Core §5.4).
func (p *Provider) personClaims(g *grant) map[string]any {
	claims := map[string]any{}
	if slices.Contains(g.scopes, "profile") {
		maps.Copy(claims, g.person.Claims)
		claims["name"] = g.person.Name
		claims["picture"] = p.picture(g.person)
	}
	if slices.Contains(g.scopes, "email") && g.person.Email != "" {
		claims["email"] = g.person.Email
		claims["email_verified"] = g.person.EmailVerified
	}
	claims["sub"] = g.person.Sub
	return claims
}

func (p *Provider) picture(q Person) string {
	if q.Picture != "" {
		return q.Picture
	}
	return p.issuer + avatarPath(q)
}

// userInfo serves /userinfo (OpenID Connect Core §5.3).
func (p *Provider) userInfo(w http.ResponseWriter, r *http.Request) {
	g, ok := p.bearer(w, r)
	if !ok {
		return
	}
	if !slices.Contains(g.scopes, "openid") {
		w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="openid"`)
		writeJSON(w, http.StatusForbidden, map[string]string{"error": "insufficient_scope"})
		return
	}
	claims := p.personClaims(g)
	if edit := p.fault().UserInfo; edit != nil {
		edit(claims)
	}
	writeJSON(w, http.StatusOK, claims)
}

// user serves GET /oauth2/user, a profile as providers without OpenID Connect have it:
// the ID is a number, and missing values are null.
func (p *Provider) user(w http.ResponseWriter, r *http.Request) {
	g, ok := p.bearer(w, r)
	if !ok {
		return
	}
	writeJSON(w, http.StatusOK, p.plainUser(g.person))
}

func (p *Provider) plainUser(q Person) map[string]any {
	user := map[string]any{
		"id":         numericID(q.Sub),
		"login":      q.Sub,
		"name":       q.Name,
		"email":      nil,
		"avatar_url": p.picture(q),
	}
	if q.Email != "" {
		user["email"] = q.Email
	}
	if edit := p.fault().User; edit != nil {
		edit(user)
	}
	return user
}

// numericID derives a stable positive number from a subject. It is below 2^53, so that
// readers that store numbers as doubles do not merge people.
func numericID(sub string) int64 {
	sum := sha256.Sum256([]byte(sub))
	return int64(binary.BigEndian.Uint64(sum[:8])>>11) | 1
}

// bearer returns the grant of the access token in the Authorization header, or answers
// 401 (RFC 6750 §3). It ignores tokens in the query or the body.
func (p *Provider) bearer(w http.ResponseWriter, r *http.Request) (*grant, bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		w.Header().Set("WWW-Authenticate", `Bearer realm="idp"`)
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "invalid_request"})
		return nil, false
	}
	g, ok := p.tokens.get(token)
	if !ok || g.revoked.Load() {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		writeJSON(w, http.StatusUnauthorized, map[string]string{"error": "invalid_token"})
		return nil, false
	}
	return g, true
}
