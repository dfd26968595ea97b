package authsvc

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"authsvc/internal/seal"
	"authsvc/internal/weburl"
)

// A place is where a request came to, as far as sessions go: which cookie they are
// in, and how people sign in there. sessionPlace alone decides.
type place interface {
	// cookie returns the value that a session is read from. present reports whether
	// any such cookie came; "" with present are cookies that make no sense together.
	cookie(j *jar) (value string, present bool)
	// read is that of sessions.
	read(ctx context.Context, raw string, now time.Time, how readOptions) (s *Session, renewed *sessionCookie, err error)
	// keep queues the cookie of a session and reports whether it fits.
	keep(rq *request, c sessionCookie) bool
	// drop expires what the request carried.
	drop(rq *request)
	// signIn leads a person to where they sign in, once more if again says so, and
	// to an address of this host afterwards.
	signIn(rq *request, to string, again bool) outcome
}

// An enteredPlace is a host that the session cookie does not get to: it has a cookie
// of its own, which a hand-over brings.
type enteredPlace interface {
	place
	// enter makes the cookie's value of what sessions.carry said.
	enter(carried []byte, now time.Time) (string, error)
}

// places are the places of a service.
type places struct {
	login   loginPlace
	host    string                         // of URL
	domain  string                         // that the session cookie is for; "": the host alone
	entered func(host string) enteredPlace // makes one

	mu    sync.RWMutex
	known map[string]enteredPlace // by host name
}

// maxPlaces bounds what is kept of hosts that a wildcard covers.
const maxPlaces = 1000

// sessionPlace decides which cookie has the sessions of a Host header.
func (s *Service) sessionPlace(host string) place {
	site, origin := s.gate.table.Find(host)
	if site == nil || s.reaches(origin) {
		return &s.places.login
	}
	return s.places.at(weburl.Hostname(origin))
}

// reaches reports whether the session cookie gets to an origin: it ignores ports
// (RFC 6265 section 8.5).
func (s *Service) reaches(origin string) bool {
	host, domain := weburl.Hostname(origin), s.places.domain
	return host == s.places.host || domain != "" && net.ParseIP(host) == nil && (host == domain || strings.HasSuffix(host, "."+domain))
}

// at is the place of a host name.
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

// at is the place of the request.
func (rq *request) at() place {
	if rq.place == nil {
		rq.place = rq.sessionPlace(rq.r.Host)
	}
	return rq.place
}

// loginPlace is the host of URL, and all that the session cookie gets to.
type loginPlace struct{ sessions }

func (*loginPlace) cookie(j *jar) (string, bool) { return j.session() }

func (*loginPlace) keep(rq *request, c sessionCookie) bool { return rq.setSession(c.value, c.expires) }

func (*loginPlace) drop(rq *request) { rq.clearSession() }

func (*loginPlace) signIn(rq *request, to string, again bool) outcome {
	if again && rq.policy.confirms {
		return redirect{to: weburl.WithQuery(rq.base+"/confirm", "callbackUrl", to)}
	}
	once := ""
	if again {
		once = "true"
	}
	return redirect{to: weburl.WithQuery(rq.base+"/signin", "callbackUrl", to, "again", once)}
}

// gateCookie is what hosts with a cookie of their own have in common. Its key is
// that of the host name, since browsers send cookies to every port.
type gateCookie struct{ key *seal.Sealer }

func (gateCookie) cookie(j *jar) (value string, present bool) {
	for i := range j.pairs {
		present = present || j.pairs[i].name == j.names.gate
	}
	value, _ = j.get(j.names.gate)
	return value, present
}

func (gateCookie) keep(rq *request, c sessionCookie) bool {
	if !rq.names.fitsGate(c.value) {
		return false
	}
	rq.setCookie(cookie{name: rq.names.gate, value: c.value, expires: c.expires})
	return true
}

func (gateCookie) drop(rq *request) {
	if _, present := rq.at().cookie(&rq.jar); present {
		rq.expireCookie(rq.names.gate, "")
	}
}

func (gateCookie) signIn(rq *request, to string, again bool) outcome {
	return rq.beginHandOver(to, again)
}

// fitsGate reports whether a value fits into the one cookie that it may have.
func (n *cookieNames) fitsGate(value string) bool { return len(n.gate)+len(value) <= maxCookie }

// A gateDatabase knows a session by the key that the store has it under, so that it
// ends with the session, everywhere.
type gateDatabase struct {
	gateCookie
	*databaseSessions
}

func (d *databaseSessions) enteredBy(key *seal.Sealer) enteredPlace {
	return &gateDatabase{gateCookie{key}, d}
}

func (d *databaseSessions) carry(_ *Session, raw string, _ time.Time, _ func(string) bool) ([]byte, error) {
	token, _, ok := d.key(raw)
	if !ok {
		return nil, errNoSession
	}
	return []byte(token), nil
}

func (g *gateDatabase) enter(carried []byte, _ time.Time) (string, error) {
	return g.gateCookie.key.Seal(carried)
}

func (g *gateDatabase) read(ctx context.Context, raw string, now time.Time, how readOptions) (*Session, *sessionCookie, error) {
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
	return s, &sessionCookie{value: value, expires: g.svc.lastEnd(s)}, err
}

// lastEnd is when a session ends, however often it is extended: cookies that say no
// more have nothing to be extended.
func (s *Service) lastEnd(v *Session) time.Time { return v.Began.Add(s.lifetime.absolute) }

// A gateJWT carries a session itself, as much of it as a host needs.
type gateJWT struct {
	gateCookie
	*jwtSessions // under the key of the host
}

func (j *jwtSessions) enteredBy(key *seal.Sealer) enteredPlace {
	return &gateJWT{gateCookie{key}, &jwtSessions{svc: j.svc, seal: key}}
}

// carry leaves out what no rule needs, and an address that nobody proved.
func (j *jwtSessions) carry(s *Session, raw string, now time.Time, claim func(string) bool) ([]byte, error) {
	c, _, _, ok := j.open(raw, now)
	if !ok {
		return nil, errNoSession
	}
	out := Claims{"sub": c.Subject, "name": s.Name}
	if c.SID == "" || c.AdoptedSID != "" { // another program began it
		out["authsvc_sid"], out["authsvc_auth_time"] = c.sid(), c.Began
		return json.Marshal(out)
	}
	out["sid"], out["auth_time"], out["provider"] = c.SID, c.Began, c.Provider
	if c.Proved > 0 {
		out["authsvc_proved"] = c.Proved
	}
	c.AMR.tell(out)
	if c.Epoch != nil {
		out["authsvc_epoch"] = *c.Epoch
	}
	if s.EmailVerified {
		out["email"], out["authsvc_email_verified"] = s.Email, s.Email
	}
	kept := Claims{}
	for name, v := range s.Claims() {
		if claim(name) {
			kept[name] = v
		}
	}
	if len(kept) > 0 {
		out["authsvc_session"] = Claims{"claims": kept}
	}
	return json.Marshal(out)
}

func (g *gateJWT) enter(carried []byte, now time.Time) (string, error) {
	claims, err := decodeClaims(carried)
	if err != nil {
		return "", err
	}
	var c sessionClaims
	if err := c.decode(carried, false); err != nil {
		return "", err
	}
	made, err := g.sealClaims(claims, fromSeconds(c.Began), now)
	return made.value, err
}

// read asks no callback: the claims are not those that it knows.
func (g *gateJWT) read(_ context.Context, raw string, now time.Time, how readOptions) (*Session, *sessionCookie, error) {
	c, s, stale, err := g.live(raw, now)
	if err != nil || s == nil {
		return nil, nil, err
	}
	if c.AdoptedSID != "" && g.svc.revoked.coversForeign(&c) {
		return nil, nil, nil
	}
	if !how.touch || !stale && !g.svc.lifetime.due(time.Unix(int64(c.Issued), 0), now) {
		return s, nil, nil
	}
	value, err := g.enter(s.token, now)
	if err != nil {
		return nil, nil, fmt.Errorf("the cookie of a host could not be made anew: %w", err)
	}
	return s, &sessionCookie{value: value, expires: g.svc.lastEnd(s)}, nil
}
