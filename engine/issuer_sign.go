package engine

import (
	"encoding/json"
	"errors"
	"fmt"

	"authsvc"
	"authsvc/internal/seal/uuid"
)

// standardClaims are what every token says of a session, but for its audience.
func (is *issuer) standardClaims(v *authsvc.Session, sid string, now, expires int64) map[string]any {
	claims := map[string]any{"iss": is.site.base, "sub": v.UserID, "iat": now, "exp": expires, "jti": uuid.V4()}
	if !v.AuthTime.IsZero() {
		claims["auth_time"] = v.AuthTime.Unix()
	}
	if v.Provider != "" {
		claims["idp"] = v.Provider
	}
	if sid != "" {
		claims["sid"] = tokenSID(sid)
	}
	v.Internal().AMR.Tell(claims)
	return claims
}

// audienceOf is the audience of an id, nil if there is none.
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
		return "", errors.New("there is no key of the algorithm")
	}
	token, err := k.Sign(a.typ, raw)
	if err == nil && len(token) > maxJWT {
		err = fmt.Errorf("it has %d bytes, and 4096 is the most; leave claims out", len(token))
	}
	return token, err
}
