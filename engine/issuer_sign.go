package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/internal/protocol/access"
	"authsvc/internal/seal"
	"authsvc/internal/seal/signingkeys"
)

// standardClaims returns the claims about a session that every token has, except the
// audience.
func (is *issuer) standardClaims(v *authsvc.Session, sid string, now, expires int64) map[string]any {
	claims := map[string]any{"iss": is.site.base, "sub": v.UserID, "iat": now, "exp": expires, "jti": seal.UUIDv4()}
	if !v.AuthTime.IsZero() {
		claims["auth_time"] = v.AuthTime.Unix()
	}
	if v.Provider != "" {
		claims["idp"] = v.Provider
	}
	if sid != "" {
		claims["sid"] = tokenSID(sid)
	}
	o := v.Internal().Origin()
	o.SecondAt = o.SecondAt.Truncate(time.Second)
	o.Tell(claims)
	return claims
}

// audienceOf returns the audience with an ID, or nil if there is none.
func (is *issuer) audienceOf(id string) *audience {
	for i := range is.audiences {
		if is.audiences[i].id == id {
			return &is.audiences[i]
		}
	}
	return nil
}

func (is *issuer) sign(a *audience, claims map[string]any) (string, error) {
	raw, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	k := is.signing.known.Load().set.Signing(a.alg, is.fleet.Now())
	if k == nil {
		return "", errors.New("no signing key has the algorithm")
	}
	token, err := k.Sign(a.typ, raw)
	if err == nil && len(token) > maxJWT {
		err = fmt.Errorf("it has %d bytes, but at most 4096 are allowed; leave claims out", len(token))
	}
	return token, err
}

// An audience is a checked [authsvc.Audience].
type audience struct {
	id, alg, typ string
	ttl          time.Duration
	claims       []claimSource
	allow        []access.Condition // at least one must match; empty: everyone may have a token
	when         func(context.Context, authsvc.AccessRequest) (bool, error)
}

// A claimSource adds the claims for a name in Audience.Claims to a token.
type claimSource func(ctx context.Context, store adapter.Adapter, v *authsvc.Session, claims map[string]any) error

const maxJWT = 4 << 10 // bytes of a token

const maxAudName = 255 // bytes of an audience's ID

// tokenSID names a session in tokens, by 132 bits of a digest. They distinguish
// sessions, but give access to none.
func tokenSID(sid string) string {
	const chars = 22 // 132 bits
	return seal.Digest("session of a token " + sid)[:chars]
}

// asserted signs the assertions. Their audience is the host.
var asserted = audience{alg: signingkeys.ES256, typ: "JWT"}
