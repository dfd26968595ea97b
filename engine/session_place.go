package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"authsvc"
	"authsvc/engine/internal/cookie"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
	"authsvc/internal/seal/tokenclaims"
)

// A readPlace is a place whose cookie stands for a session. Only sessionPlace decides
// which place a host is.
type readPlace interface {
	place
	// read is as in sessions.
	read(ctx context.Context, raw string, now time.Time, how readOptions) (s *authsvc.Session, renewed *sessionCookie, err error)
}

// An enteredPlace is a host that does not receive the session cookie. It has a cookie
// of its own, which gate/enter sets.
type enteredPlace interface {
	readPlace
	// enter makes the cookie's value from the result of sessions.carry.
	enter(carried []byte, now time.Time) (string, error)
}

// places holds the places of a service.
type places struct {
	login   loginPlace
	host    string                         // of URL
	domain  string                         // of the session cookie; "": the host alone
	entered func(host string) enteredPlace // makes one

	mu    sync.RWMutex
	known map[string]enteredPlace // by host name
}

// maxPlaces limits the places that are kept for hosts of a wildcard.
const maxPlaces = 1000

// sessionPlace returns the place of a Host header: it decides which cookie holds the
// sessions there.
func (kp *keeper) sessionPlace(host string) readPlace {
	site, origin := kp.site.hosts.Find(host)
	if site == nil || kp.reaches(origin) {
		return &kp.places.login
	}
	return kp.places.at(weburl.Hostname(origin))
}

// reaches reports whether browsers send the session cookie to an origin. Cookies ignore
// ports (RFC 6265 section 8.5).
func (kp *keeper) reaches(origin string) bool {
	host, domain := weburl.Hostname(origin), kp.places.domain
	return host == kp.places.host || domain != "" && net.ParseIP(host) == nil && (host == domain || strings.HasSuffix(host, "."+domain))
}

// at returns the place of a host name.
func (p *places) at(host string) enteredPlace {
	p.mu.RLock()
	at := p.known[host]
	p.mu.RUnlock()
	if at != nil {
		return at
	}
	at = p.entered(host)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.known) >= maxPlaces || p.known == nil {
		p.known = map[string]enteredPlace{}
	}
	p.known[host] = at
	return at
}

// loginPlace is the host of URL, and every host that receives the session cookie.
type loginPlace struct{ sessions }

func (*loginPlace) cookie(j *cookie.Jar) (string, bool) { return j.Session() }

func (*loginPlace) keep(rq *request, c sessionCookie) bool { return rq.setSession(c.value, c.expires) }

func (*loginPlace) drop(rq *request) { rq.clearSession() }

// gateCookie is the common part of hosts with a cookie of their own. The key is derived
// from the host name without a port, since browsers send cookies to every port.
type gateCookie struct {
	key  *seal.Sealer
	name string
}

func (g gateCookie) cookie(j *cookie.Jar) (value string, present bool) {
	for i := range j.Pairs {
		present = present || j.Pairs[i].Name == g.name
	}
	value, _ = j.Get(g.name)
	return value, present
}

func (g gateCookie) keep(rq *request, c sessionCookie) bool {
	if !cookie.FitsOne(g.name, c.value) {
		return false
	}
	rq.setCookie(cookie.Cookie{Name: g.name, Value: c.value, Expires: c.expires})
	return true
}

func (g gateCookie) drop(rq *request) {
	if _, present := rq.at().cookie(&rq.jar); present {
		rq.expireCookie(g.name, "")
	}
}

// A gateDatabase refers to a session by its key in the store, so that it ends with the
// session, everywhere.
type gateDatabase struct {
	gateCookie
	*databaseSessions
}

func (d *databaseSessions) enteredBy(key *seal.Sealer) enteredPlace {
	return &gateDatabase{gateCookie{key, d.keeper.enteredCookie}, d}
}

func (d *databaseSessions) carry(_ *authsvc.Session, raw string, _ time.Time, _ func(string) bool) ([]byte, error) {
	token, _, ok := d.key(raw)
	if !ok {
		return nil, errNoSession
	}
	return []byte(token), nil
}

func (g *gateDatabase) enter(carried []byte, _ time.Time) (string, error) {
	return g.gateCookie.key.Seal(carried)
}

func (g *gateDatabase) read(ctx context.Context, raw string, now time.Time, how readOptions) (*authsvc.Session, *sessionCookie, error) {
	plain, stale, err := g.gateCookie.key.Open(raw)
	if err != nil {
		if g.gateCookie.key.NamesOther(raw) {
			return nil, nil, errUnknownKey
		}
		return nil, nil, nil
	}
	token := string(plain)
	hash, digested := strings.CutPrefix(token, digestPrefix)
	if !digested {
		hash = seal.Digest(token)
	}
	s, _, err := g.find(ctx, token, hash, "", now, how)
	if err != nil || s == nil || !stale || !how.touch {
		return s, nil, err
	}
	value, err := g.gateCookie.key.Seal(plain)
	return s, &sessionCookie{value: value, expires: g.keeper.lastEnd(s)}, err
}

// lastEnd returns the latest end of a session, however often it is extended. Cookies
// that expire then never need to be extended.
func (kp *keeper) lastEnd(v *authsvc.Session) time.Time { return v.Began.Add(kp.lifetime.absolute) }

// A gateJWT carries the session itself, reduced to what a host needs.
type gateJWT struct {
	gateCookie
	*jwtSessions // under the key of the host
}

func (j *jwtSessions) enteredBy(key *seal.Sealer) enteredPlace {
	return &gateJWT{gateCookie{key, j.keeper.enteredCookie}, &jwtSessions{keeper: j.keeper, seal: key}}
}

// carry leaves out what no rule needs, and an address that is not proved.
func (j *jwtSessions) carry(s *authsvc.Session, raw string, now time.Time, claim func(string) bool) ([]byte, error) {
	c, _, _, ok := j.open(raw, now)
	if !ok {
		return nil, errNoSession
	}
	out := authsvc.Claims{"sub": c.Subject, "name": s.Name}
	if c.SID == "" || c.AdoptedSID != "" { // another program began it
		out["authsvc_sid"], out["authsvc_auth_time"] = c.SessionID(), c.Began
		return json.Marshal(out)
	}
	out["sid"], out["auth_time"], out["provider"] = c.SID, c.Began, c.Provider
	if c.Proved > 0 {
		out["authsvc_proved"] = c.Proved
	}
	c.Origin().Tell(out)
	if c.Epoch != nil {
		out["authsvc_epoch"] = *c.Epoch
	}
	if s.EmailVerified {
		out["email"], out["authsvc_email_verified"] = s.Email, s.Email
	}
	kept := authsvc.Claims{}
	for name, v := range s.Claims() {
		if claim(name) {
			kept[name] = v
		}
	}
	if len(kept) > 0 {
		out["authsvc_session"] = authsvc.Claims{"claims": kept}
	}
	return json.Marshal(out)
}

func (g *gateJWT) enter(carried []byte, now time.Time) (string, error) {
	claims, err := decodeClaims(carried)
	if err != nil {
		return "", err
	}
	var c tokenclaims.Claims
	if err := c.Decode(carried, false); err != nil {
		return "", err
	}
	made, err := g.sealClaims(claims, tokenclaims.FromSeconds(c.Began), now)
	return made.value, err
}

// read calls no callback, since callbacks do not know these claims.
func (g *gateJWT) read(_ context.Context, raw string, now time.Time, how readOptions) (*authsvc.Session, *sessionCookie, error) {
	c, s, stale, err := g.live(raw, now)
	if err != nil || s == nil {
		return nil, nil, err
	}
	if c.AdoptedSID != "" && g.keeper.revoked.coversForeign(&c) {
		return nil, nil, nil
	}
	if !how.touch || !stale && !g.keeper.lifetime.due(time.Unix(int64(c.Issued), 0), now) {
		return s, nil, nil
	}
	value, err := g.enter(s.Internal().Token, now)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot renew the cookie of a host: %w", err)
	}
	return s, &sessionCookie{value: value, expires: g.keeper.lastEnd(s)}, nil
}

// nameCookies names the cookie of hosts that do not receive the session cookie.
func (kp *keeper) nameCookies(n *cookie.Names) { kp.enteredCookie = n.Add("gate") }

func (kp *keeper) deriveKeys(ring *seal.Ring) {
	kp.handleKey = ring.MAC("session handle")
	kp.places.login.sessions = kp.sessions
	kp.places.entered = func(host string) enteredPlace {
		return kp.sessions.enteredBy(ring.Sealer("gate " + kp.site.base + " " + host))
	}
	if j, ok := kp.sessions.(*jwtSessions); ok {
		j.seal = kp.site.dialect.sessionSealer(ring, kp.site.origin, kp.site.names.Session)
	}
}
