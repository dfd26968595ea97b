package engine

import (
	"sync"
	"time"

	"authsvc"
)

// assertionLife is how long an assertion is good; it is made anew after half of
// that.
const assertionLife = 5 * time.Minute

// maxAssertions bounds what is kept of them: when there are more, all are forgotten.
const maxAssertions = 10_000

// assertions are those that were made, one for each session and host: a signature
// for each request would cost more than all else.
type assertions struct {
	mu   sync.Mutex
	made map[assertionKey]assertion
}

type assertionKey struct{ session, user, origin string }

type assertion struct {
	token string
	until time.Time
	kid   string // of the key that signed it: none is used after it was retired
}

// assertion is a token that says to the program at an origin who asks. Whoever
// verifies it need not trust what is between. What cannot be signed is left out, so
// that the program refuses it.
func (gt *gateRoom) assertion(v *authsvc.Session, origin string) string {
	now, kid := gt.fleet.Now(), ""
	if k := gt.issuer.signing.known.Load().set.Signing(asserted.alg, now); k != nil {
		kid = k.ID
	}
	key := assertionKey{v.Internal().ID, v.UserID, origin}
	all := &gt.assertions
	all.mu.Lock()
	one, ok := all.made[key]
	all.mu.Unlock()
	if ok && now.Before(one.until) && one.kid == kid {
		return one.token
	}
	expires := now.Add(assertionLife)
	if v.Expires.Before(expires) {
		expires = v.Expires
	}
	if expires.Unix() <= now.Unix() {
		return ""
	}
	token, err := gt.issuer.sign(&asserted, gt.assertionClaims(v, origin, now, expires))
	if err != nil {
		if !gt.notAsserted.Swap(true) {
			gt.Log.Error("an assertion is left out, here and silently from now on: it could not be made", "host", origin, "err", err)
		}
		return ""
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.made == nil || len(all.made) >= maxAssertions {
		all.made = map[assertionKey]assertion{}
	}
	all.made[key] = assertion{token, now.Add(expires.Sub(now) / 2), kid}
	return token
}

// assertionClaims are those of a token, with what the other headers say.
func (gt *gateRoom) assertionClaims(v *authsvc.Session, origin string, now, expires time.Time) map[string]any {
	claims := gt.issuer.standardClaims(v, v.Internal().ID, now.Unix(), expires.Unix())
	claims["aud"] = origin
	if v.Name != "" {
		claims["name"] = v.Name
	}
	if v.Email != "" {
		claims["email"], claims["email_verified"] = v.Email, v.EmailVerified
	}
	if groups, there := v.Claims()["groups"]; there {
		claims["groups"] = groups
	}
	return claims
}
