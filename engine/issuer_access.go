package engine

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/seal/sessionshape"
)

// claimUse is a claim that only assertions have, so that a program cannot pass them on
// as access tokens.
const claimUse = "token_use"

// acceptsTokens reports whether a rule of a host lets tokens pass.
func acceptsTokens(h *authsvc.GateHost) bool {
	takes := func(a authsvc.Allow) bool {
		return slices.ContainsFunc(a.AnyOf, func(c authsvc.Condition) bool { return c.Tokens })
	}
	return takes(h.Default) || slices.ContainsFunc(h.Rules, func(r authsvc.GateRule) bool { return takes(r.Allow) })
}

// bearsAccess reports whether a request for a program behind the gate carries a token
// of POST token whose audience is the program's origin. Its signature is not checked
// yet. Tokens of other issuers, and for other audiences, are for the program.
func (is *issuer) bearsAccess(h http.Header, origin string) bool {
	if len(h["Authorization"]) == 0 || is.audienceOf(origin) == nil {
		return false
	}
	for _, line := range h["Authorization"] {
		if token, there, _ := bearer(http.Header{"Authorization": {line}}); there && is.isFor(token, origin) {
			return true
		}
	}
	return false
}

// isFor reports whether a token says that it is of this issuer and for an audience.
func (is *issuer) isFor(token, audience string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(token) > maxJWT {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var claims struct {
		Issuer   string          `json:"iss"`
		Audience json.RawMessage `json:"aud"`
	}
	if json.Unmarshal(raw, &claims) != nil || claims.Issuer != is.site.base {
		return false
	}
	var one string
	return json.Unmarshal(claims.Audience, &one) == nil && one == audience
}

// accessAt judges the token of POST token of a request for a host of the gate. The
// session stands for the user as that of a personal access token does.
func (is *issuer) accessAt(rq *request, h http.Header, origin string) (*authsvc.Session, error) {
	token, err := is.bearerAt(rq, h)
	if err != nil {
		return nil, err
	}
	var s *authsvc.Session
	err = is.judgeToken(rq, "gate.refused", func() (reason string, err error) {
		s, reason, err = is.openAccess(rq, token, origin)
		return reason, err
	})
	return s, err
}

// openAccess verifies a token of POST token. If it is refused, reason says why.
func (is *issuer) openAccess(rq *request, token, origin string) (s *authsvc.Session, reason string, err error) {
	claims, err := is.signing.known.Load().verifier.Verify(token)
	if err != nil {
		return nil, "the access token is not signed by this service", nil
	}
	text := func(name string) string { t, _ := claims[name].(string); return t }
	expires, ok := unixClaim(claims["exp"])
	issued, also := unixClaim(claims["iat"])
	switch {
	case text("iss") != is.site.base || text("aud") != origin || text("sub") == "" || !ok || !also:
		return nil, "the access token is not for this host", nil
	case claims[claimUse] != nil:
		return nil, "the access token is an assertion of the gate", nil
	case !rq.now.Before(expires):
		return nil, "the access token has expired", nil
	case rq.now.Add(time.Minute).Before(issued):
		return nil, "the access token is not valid yet", nil
	}
	rq.auditUser, rq.auditActor = text("sub"), tokenActor(text("jti"))
	if !is.Stores() {
		proved, _ := claims["email_verified"].(bool)
		s = &authsvc.Session{UserID: text("sub"), Name: text("name"), Email: text("email"), EmailVerified: proved, Image: text("picture"), Expires: expires}
		*s.Internal() = sessionshape.State{Shape: is.keeper.shape}
		return s, "", nil
	}
	return is.sessionOf(rq, text("sub"), expires)
}

// sessionOf returns a session that stands for a stored user who did not sign in. It has
// no AuthTime, no Provider and no claims, so conditions on them do not match. If the
// user may not act, reason says why.
func (is *issuer) sessionOf(rq *request, userID string, expires time.Time) (s *authsvc.Session, reason string, err error) {
	u, err := is.Adapter.GetUser(rq.ctx, userID)
	switch {
	case errors.Is(err, adapter.ErrNotFound):
		return nil, "its user no longer exists", nil
	case err != nil:
		return nil, "", err
	case !u.Blocked.IsZero():
		return nil, "its user is blocked", nil
	case !u.DeleteAfter.IsZero():
		return nil, "its user is scheduled for deletion", nil
	}
	s = &authsvc.Session{UserID: u.ID, Name: u.Name, Email: u.Email, EmailVerified: emailProved(u), Image: u.Image, Expires: expires}
	*s.Internal() = sessionshape.State{Shape: is.keeper.shape, Extra: u.Extra}
	return s, "", nil
}

// unixClaim reads a claim that is a time (RFC 7519 section 2).
func unixClaim(v any) (time.Time, bool) {
	n, _ := v.(json.Number)
	seconds, err := n.Int64()
	return time.Unix(seconds, 0), err == nil && seconds > 0 && seconds < 1<<40
}

// tokenActor names a token as the actor of audit events.
func tokenActor(id string) string { return "token:" + id }
