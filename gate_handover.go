package authsvc

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"authsvc/internal/handover"
	"authsvc/internal/pages"
	"authsvc/internal/weburl"
)

// A hand-over signs somebody in at a host that the session cookie does not get to:
// gate/start there keeps a nonce in a cookie and leads to gate/authorize at the login
// host, which leads back to gate/enter with a code, which sets the host's own cookie;
// gate/landed looks whether that came back.

// beginHandOver leads from gate/start to the login host, and keeps where to go on.
func (rq *request) beginHandOver(to string, again bool) outcome {
	_, origin := rq.gate.table.Find(rq.r.Host)
	a := handover.Begin(origin, strings.TrimPrefix(to, origin), rq.now)
	value, err := rq.keys.handOver.SealAttempt(a)
	if err != nil || len(value) > maxCookie-handOverName {
		a.To = "/"
		value, err = rq.keys.handOver.SealAttempt(a)
	}
	if err != nil {
		rq.log.Error("a hand-over could not begin", "request", rq.requestID(), "host", origin, "err", err)
		return rq.notEntered("entry", origin, a.To, http.StatusInternalServerError)
	}
	rq.makeRoom(rq.attempts(origin), len(value))
	challenge := a.Challenge()
	rq.setCookie(cookie{name: rq.names.gatePrefix + handover.ID(challenge), value: value, expires: time.Unix(a.Expires, 0)})
	return redirect{to: rq.authorizeURL(origin, challenge, again)}
}

// handOverName is more than the length of an attempt's name.
const handOverName = 64

// attempts are the names of the attempts that the request carries, oldest first.
// Those that do not open are expired.
func (rq *request) attempts(origin string) (names []string) {
	ends := map[string]int64{}
	for _, p := range rq.jar.pairs {
		id, ok := strings.CutPrefix(p.name, rq.names.gatePrefix)
		if !ok || !validCookieName(p.name) {
			continue
		}
		a, ok := rq.keys.handOver.OpenAttempt(p.value, origin, rq.now)
		if !ok || handover.ID(a.Challenge()) != id {
			rq.expireCookie(p.name, "")
			continue
		}
		if _, twice := ends[p.name]; !twice {
			names = append(names, p.name)
		}
		ends[p.name] = a.Expires
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(ends[a], ends[b]) })
	return names
}

func (s *Service) authorizeURL(origin, challenge string, again bool) string {
	_, host, _ := strings.Cut(origin, "://")
	once := ""
	if again {
		once = "true"
	}
	return weburl.WithQuery(s.base+"/gate/authorize", "host", host, "challenge", challenge, "again", once)
}

// gateAuthorize: GET gate/authorize, at the login host, answers with a code for
// whoever is signed in; others sign in first.
func gateAuthorize(rq *request) outcome {
	if out := rq.notByPerson(); out != nil {
		return out
	}
	site, origin := rq.gate.table.Find(rq.query("host"))
	challenge := rq.query("challenge")
	if site == nil || !handover.IsChallenge(challenge) {
		return rq.refuseEntry("the host is not configured, or there is no challenge", "", "/", http.StatusBadRequest)
	}
	at, handsOver := rq.sessionPlace(rq.query("host")).(enteredPlace)
	if !handsOver {
		return rq.refuseEntry("the session cookie gets to the host by itself", "", "/", http.StatusBadRequest)
	}
	s, err := rq.slideSession(readOptions{touch: true, full: true})
	if err != nil {
		rq.log.Error("session could not be read", "request", rq.requestID(), "err", err)
		rq.retryAfter = gateRetry
		return rq.notEntered("sessions", origin, "/", http.StatusServiceUnavailable)
	}
	if again := rq.query("again") == "true"; s == nil || again {
		return rq.at().signIn(rq, rq.authorizeURL(origin, challenge, false), again && s != nil)
	}
	rq.auditUser = s.UserID
	carried, err := rq.sessions.carry(s, rq.sessionCookieValue(), rq.now, rq.gate.claims[site.Index()])
	if errors.Is(err, errNoSession) {
		return rq.at().signIn(rq, rq.authorizeURL(origin, challenge, false), false)
	}
	var value, code string
	if err == nil {
		value, err = at.enter(carried, rq.now)
	}
	if err == nil && !rq.names.fitsGate(value) {
		err = errEntryTooLarge
	}
	if err == nil {
		code, err = rq.keys.handOver.SealCode(origin, challenge, carried, rq.now)
	}
	if err != nil {
		rq.log.Error("a person could not be signed in at a host of the gate", "request", rq.requestID(), "host", origin, "err", err)
		return rq.refuseEntry("what the host is to know of the session could not be written", origin, "/", http.StatusInternalServerError)
	}
	return redirect{to: weburl.WithQuery(origin+rq.basePath+"/gate/enter", "code", code)}
}

// errEntryTooLarge: browsers keep 4096 bytes.
var errEntryTooLarge = errors.New("what the host is to know of the session does not fit into one cookie of 4096 bytes; keep the claims small that its rules name")

// gateEnter: GET gate/enter, at a host of the gate, takes the code and sets the
// host's cookie.
func gateEnter(rq *request) outcome {
	if out := rq.notByPerson(); out != nil {
		return out
	}
	at, ok := rq.at().(enteredPlace)
	if !ok {
		return notFound
	}
	_, origin := rq.gate.table.Find(rq.r.Host)
	c, a, err := rq.keys.handOver.Redeem(rq.query("code"), origin, rq.now, func(id string) (string, bool) { return rq.jar.get(rq.names.gatePrefix + id) })
	if err != nil {
		return rq.refuseEntry(err.Error(), origin, "/", http.StatusBadRequest)
	}
	rq.expireCookie(rq.names.gatePrefix+handover.ID(c.Challenge), "")
	switch err := rq.adapter.UseOnce(rq.ctx, "gate:"+c.Challenge, time.Unix(a.Expires, 0).Add(time.Minute)); {
	case errors.Is(err, ErrConflict):
		return rq.refuseEntry("the code was used before", origin, a.To, http.StatusBadRequest)
	case err != nil:
		return rq.entryFailed(err, origin, a.To)
	}
	value, err := at.enter(c.Carried, rq.now)
	if err != nil {
		return rq.entryFailed(err, origin, a.To)
	}
	s, _, err := at.read(rq.ctx, value, rq.now, readOptions{})
	switch {
	case err != nil:
		return rq.entryFailed(err, origin, a.To)
	case s == nil:
		return rq.refuseEntry("the session has ended", origin, a.To, http.StatusBadRequest)
	}
	rq.auditUser = s.UserID
	if !at.keep(rq, sessionCookie{value: value, expires: rq.lastEnd(s)}) {
		return rq.entryFailed(errEntryTooLarge, origin, a.To)
	}
	rq.audit("gate.entered", "", "")
	return redirect{to: weburl.WithQuery(origin+rq.basePath+"/gate/landed", "to", a.To)}
}

// gateLanded: GET gate/landed says so if the cookie of gate/enter did not come back;
// it would go round in circles.
func gateLanded(rq *request) outcome {
	if out := rq.notByPerson(); out != nil {
		return out
	}
	if _, ok := rq.at().(enteredPlace); !ok {
		return notFound
	}
	_, origin := rq.gate.table.Find(rq.r.Host)
	to := rq.gatePath(origin, rq.query("to"))
	switch s, err := rq.current(); {
	case err != nil:
		return rq.entryFailed(err, origin, to)
	case s != nil:
		return redirect{to: origin + to}
	}
	if rq.audit("gate.enter_refused", "", "the cookie of the host did not come back") {
		rq.log.Info("a browser does not send the cookie back that it was signed in with at a host of the gate: it blocks cookies, or a proxy drops Set-Cookie of gate/enter or Cookie",
			"request", rq.requestID(), "host", origin)
	}
	return rq.notEntered("kept", origin, to, http.StatusBadRequest)
}

// gateLeave: GET gate/leave leads to the sign-out page, and back.
func gateLeave(rq *request) outcome {
	site, origin := rq.gate.table.Find(rq.r.Host)
	if site == nil {
		return notServed
	}
	if out := rq.notByPerson(); out != nil {
		return out
	}
	if at, ok := rq.at().(enteredPlace); ok {
		at.drop(rq) // it comes back by itself if the person does not sign out
	}
	return redirect{to: weburl.WithQuery(rq.base+"/signout", "callbackUrl", rq.gateStartURL(origin, rq.gatePath(origin, rq.query("to"))))}
}

func (s *Service) gateStartURL(origin, to string) string {
	return weburl.WithQuery(origin+s.basePath+"/gate/start", "to", to)
}

// signInURL is gateStartURL for whoever comes from the sign-in page.
func (s *Service) signInURL(origin, to string) string {
	return weburl.WithQuery(s.gateStartURL(origin, to), "signin", "true")
}

// notByPerson refuses what no person asked for by going to it.
func (rq *request) notByPerson() outcome {
	switch {
	case isPrefetch(rq.r.Header):
		return notPrefetched
	case !rq.navigates():
		return problem{status: http.StatusForbidden, text: "to be opened as a page of its own"}
	}
	return nil
}

// gatePath is a path with its query at an origin, / for whatever is not one.
func (rq *request) gatePath(origin, want string) string {
	if !isPath(want) {
		return "/"
	}
	at, clean, ok := weburl.Parse(origin + want)
	if !ok || at != origin {
		return "/"
	}
	return strings.TrimPrefix(clean, origin)
}

// refuseEntry answers a hand-over that comes to nothing.
func (rq *request) refuseEntry(reason, origin, to string, status int) outcome {
	if rq.audit("gate.enter_refused", "", reason) {
		rq.log.Info("a hand-over to a host of the gate was refused", "request", rq.requestID(), "host", origin, "reason", reason)
	}
	return rq.notEntered("entry", origin, to, status)
}

// entryFailed answers one that could not be judged.
func (rq *request) entryFailed(err error, origin, to string) outcome {
	rq.log.Error("a hand-over to a host of the gate failed", "request", rq.requestID(), "host", origin, "err", err)
	rq.retryAfter = gateRetry
	return rq.notEntered("sessions", origin, to, http.StatusServiceUnavailable)
}

// notEntered says why somebody is not signed in at a host, that of the service if
// origin is "".
func (rq *request) notEntered(why, origin, to string, status int) outcome {
	origin = cmp.Or(origin, rq.origin)
	_, host, _ := strings.Cut(origin, "://")
	return page{name: pages.Unavailable, status: status, anyHost: true,
		view: pages.UnavailableView{Case: why, Host: host, RetryURL: origin + to, RequestID: rq.requestID()}}
}
