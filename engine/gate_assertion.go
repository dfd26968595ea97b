package engine

import (
	"sync"
	"time"

	"authsvc"
)

// assertionLife is how long an assertion is valid. A new one is made after half of it.
const assertionLife = time.Minute

// maxAssertions limits the cache of assertions. When it is full, all are dropped.
const maxAssertions = 10_000

// assertions caches one assertion for each session and host: a signature for every
// request would cost more than everything else.
type assertions struct {
	mu   sync.Mutex
	made map[assertionKey]assertion
}

type assertionKey struct{ session, user, origin string }

type assertion struct {
	token string
	until time.Time
	kid   string // of the signing key; an assertion is not reused after its key was retired
}

// assertion returns a token that tells the program at an origin who is asking. A
// program that verifies it need not trust anything in between. If the token cannot be
// signed, it is left out, so that the program refuses the request.
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
			gt.Log.Error("cannot make an assertion; it is left out, from now on silently", "host", origin, "err", err)
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

// assertionClaims returns the claims of an assertion, with the same data as the other
// headers.
func (gt *gateRoom) assertionClaims(v *authsvc.Session, origin string, now, expires time.Time) map[string]any {
	claims := gt.issuer.standardClaims(v, v.Internal().ID, now.Unix(), expires.Unix())
	claims["aud"], claims[claimUse] = origin, "assertion"
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
