package engine

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"authsvc/adapter"
	"authsvc/engine/internal/cookie"
	"authsvc/internal/protocol/handover"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
	"authsvc/internal/text/pages"
)

// A hand-over signs a person in at a host that the session cookie does not reach.
// gate/start at that host stores a nonce in a cookie and redirects to gate/authorize at
// the login host. That redirects back to gate/enter with a code. gate/enter sets the
// host's own cookie, and gate/landed checks that the cookie came back.

// leadToSignIn redirects to the sign-in page, and afterwards to an address of this
// host. With again, the person must sign in once more.
func (gt *gateRoom) leadToSignIn(rq *request, to string, again bool) outcome {
	if _, entered := rq.at().(enteredPlace); entered {
		return gt.beginHandOver(rq, to, again)
	}
	return redirect{to: gt.desk.signInAddress(rq, to, again)}
}

// beginHandOver redirects from gate/start to the login host, and stores where to
// continue.
func (gt *gateRoom) beginHandOver(rq *request, to string, again bool) outcome {
	_, origin := rq.hosts.Find(rq.r.Host)
	a := handover.Begin(origin, strings.TrimPrefix(to, origin), rq.now)
	value, err := gt.handOver.SealAttempt(a)
	if err != nil || len(value) > cookie.Max-handOverName {
		a.To = "/"
		value, err = gt.handOver.SealAttempt(a)
	}
	if err != nil {
		gt.Log.Error("cannot start a hand-over", "request", rq.requestID(), "host", origin, "err", err)
		return notEntered(rq, "entry", origin, a.To, http.StatusInternalServerError)
	}
	others, names := gt.attempts(rq, origin)
	makeRoom(rq, others, names, len(value))
	challenge := a.Challenge()
	rq.setCookie(cookie.Cookie{Name: gt.attemptPrefix + handover.ID(challenge), Value: value, Expires: time.Unix(a.Expires, 0)})
	return redirect{to: gt.authorizeURL(origin, challenge, again)}
}

// handOverName is the length of the longest name of an attempt's cookie: that with the
// longest prefix.
const handOverName = 64

// attempts returns the names of the attempts in the request's cookies, oldest first, and
// the names of cookies that cannot be opened.
func (gt *gateRoom) attempts(rq *request, origin string) (others, names []string) {
	ends := map[string]int64{}
	for _, p := range rq.jar.Pairs {
		id, ok := strings.CutPrefix(p.Name, gt.attemptPrefix)
		if !ok || !cookie.ValidName(p.Name) {
			continue
		}
		a, ok := gt.handOver.OpenAttempt(p.Value, origin, rq.now)
		if !ok || handover.ID(a.Challenge()) != id {
			others = append(others, p.Name)
			continue
		}
		if _, twice := ends[p.Name]; !twice {
			names = append(names, p.Name)
		}
		ends[p.Name] = a.Expires
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(ends[a], ends[b]) })
	return others, names
}

func (gt *gateRoom) authorizeURL(origin, challenge string, again bool) string {
	_, host, _ := strings.Cut(origin, "://")
	once := ""
	if again {
		once = "true"
	}
	return weburl.WithQuery(gt.site.base+"/gate/authorize", "host", host, "challenge", challenge, "again", once)
}

// gateAuthorize handles GET gate/authorize, at the login host. It answers with a code
// if the person is signed in; others sign in first.
func (gt *gateRoom) gateAuthorize(rq *request) outcome {
	if out := notByPerson(rq); out != nil {
		return out
	}
	site, origin := rq.hosts.Find(rq.query("host"))
	challenge := rq.query("challenge")
	if site == nil || !handover.IsChallenge(challenge) {
		return gt.refuseEntry(rq, "the host is not configured, or there is no challenge", "", "/", http.StatusBadRequest)
	}
	at, servesHandOver := gt.keeper.sessionPlace(rq.query("host")).(enteredPlace)
	if !servesHandOver {
		return gt.refuseEntry(rq, "the session cookie already reaches the host", "", "/", http.StatusBadRequest)
	}
	s, err := gt.keeper.slideSession(rq, readOptions{touch: true, full: true})
	if err != nil {
		gt.Log.Error("cannot read the session", "request", rq.requestID(), "err", err)
		rq.retryAfter = gateRetry
		return notEntered(rq, "sessions", origin, "/", http.StatusServiceUnavailable)
	}
	if again := rq.query("again") == "true"; s == nil || again {
		return gt.leadToSignIn(rq, gt.authorizeURL(origin, challenge, false), again && s != nil)
	}
	rq.auditUser = s.UserID
	carried, err := gt.keeper.sessions.carry(s, rq.sessionCookieValue(), rq.now, gt.claims[site.Index()])
	if errors.Is(err, errNoSession) {
		return gt.leadToSignIn(rq, gt.authorizeURL(origin, challenge, false), false)
	}
	var value, code string
	if err == nil {
		value, err = at.enter(carried, rq.now)
	}
	if err == nil && !cookie.FitsOne(gt.keeper.enteredCookie, value) {
		err = errEntryTooLarge
	}
	if err == nil {
		code, err = gt.handOver.SealCode(origin, challenge, carried, rq.now)
	}
	if err != nil {
		gt.Log.Error("cannot sign a user in at a gate host", "request", rq.requestID(), "host", origin, "err", err)
		return gt.refuseEntry(rq, "the session data for the host could not be written", origin, "/", http.StatusInternalServerError)
	}
	return redirect{to: weburl.WithQuery(origin+rq.basePath+"/gate/enter", "code", code)}
}

// errEntryTooLarge says that the cookie is larger than the 4096 bytes that browsers
// keep.
var errEntryTooLarge = errors.New("the session data for the host does not fit into one cookie of 4096 bytes; keep the claims that its rules name small")

// gateEnter handles GET gate/enter, at a host of the gate. It redeems the code and sets
// the host's cookie.
func (gt *gateRoom) gateEnter(rq *request) outcome {
	if out := notByPerson(rq); out != nil {
		return out
	}
	at, ok := rq.at().(enteredPlace)
	if !ok {
		return notFound
	}
	_, origin := rq.hosts.Find(rq.r.Host)
	c, a, err := gt.handOver.Redeem(rq.query("code"), origin, rq.now, func(id string) (string, bool) { return rq.jar.Get(gt.attemptPrefix + id) })
	if err != nil {
		return gt.refuseEntry(rq, err.Error(), origin, "/", http.StatusBadRequest)
	}
	rq.expireCookie(gt.attemptPrefix+handover.ID(c.Challenge), "")
	switch err := gt.Adapter.UseOnce(rq.ctx, "gate:"+c.Challenge, time.Unix(a.Expires, 0).Add(time.Minute)); {
	case errors.Is(err, adapter.ErrConflict):
		return gt.refuseEntry(rq, "the code was used before", origin, a.To, http.StatusBadRequest)
	case err != nil:
		return gt.entryFailed(rq, err, origin, a.To)
	}
	value, err := at.enter(c.Carried, rq.now)
	if err != nil {
		return gt.entryFailed(rq, err, origin, a.To)
	}
	s, _, err := at.read(rq.ctx, value, rq.now, readOptions{})
	switch {
	case err != nil:
		return gt.entryFailed(rq, err, origin, a.To)
	case s == nil:
		return gt.refuseEntry(rq, "the session has ended", origin, a.To, http.StatusBadRequest)
	}
	rq.auditUser = s.UserID
	if !at.keep(rq, sessionCookie{value: value, expires: gt.keeper.lastEnd(s)}) {
		return gt.entryFailed(rq, errEntryTooLarge, origin, a.To)
	}
	rq.audit("gate.entered", "", "")
	return redirect{to: weburl.WithQuery(origin+rq.basePath+"/gate/landed", "to", a.To)}
}

// gateLanded handles GET gate/landed. It reports an error if the cookie of gate/enter
// did not come back, which would otherwise cause a redirect loop.
func (gt *gateRoom) gateLanded(rq *request) outcome {
	if out := notByPerson(rq); out != nil {
		return out
	}
	if _, ok := rq.at().(enteredPlace); !ok {
		return notFound
	}
	_, origin := rq.hosts.Find(rq.r.Host)
	to := gatePath(rq, origin, rq.query("to"))
	switch s, err := gt.keeper.current(rq); {
	case err != nil:
		return gt.entryFailed(rq, err, origin, to)
	case s != nil:
		return redirect{to: origin + to}
	}
	if rq.audit("gate.enter_refused", "", "the browser did not return the cookie of the host") {
		gt.Log.Info("a browser does not return the cookie that signed it in at a gate host: it blocks cookies, or a proxy drops Set-Cookie of gate/enter or Cookie",
			"request", rq.requestID(), "host", origin)
	}
	return notEntered(rq, "kept", origin, to, http.StatusBadRequest)
}

// gateLeave handles GET gate/leave, which leads to the sign-out page and back.
func (gt *gateRoom) gateLeave(rq *request) outcome {
	site, origin := rq.hosts.Find(rq.r.Host)
	if site == nil {
		return notServed
	}
	if out := notByPerson(rq); out != nil {
		return out
	}
	if at, ok := rq.at().(enteredPlace); ok {
		at.drop(rq) // if the person does not sign out, the cookie comes back by itself
	}
	return redirect{to: weburl.WithQuery(rq.base+"/signout", "callbackUrl", gt.gateStartURL(origin, gatePath(rq, origin, rq.query("to"))))}
}

func (gt *gateRoom) gateStartURL(origin, to string) string {
	return weburl.WithQuery(origin+gt.site.basePath+"/gate/start", "to", to)
}

// signInURL is like gateStartURL, for people who come from the sign-in page.
func (gt *gateRoom) signInURL(origin, to string) string {
	return weburl.WithQuery(gt.gateStartURL(origin, to), "signin", "true")
}

// notByPerson refuses requests other than a person's navigation to a page.
func notByPerson(rq *request) outcome {
	switch {
	case isPrefetch(rq.r.Header):
		return notPrefetched
	case !navigates(rq):
		return problem{status: http.StatusForbidden, text: "open this address as a top-level page"}
	}
	return nil
}

// gatePath returns want, a path with its query at an origin, or / if it is not one.
func gatePath(rq *request, origin, want string) string {
	if !isPath(want) {
		return "/"
	}
	at, clean, ok := weburl.Parse(origin + want)
	if !ok || at != origin {
		return "/"
	}
	return strings.TrimPrefix(clean, origin)
}

// refuseEntry answers a hand-over that was refused.
func (gt *gateRoom) refuseEntry(rq *request, reason, origin, to string, status int) outcome {
	if rq.audit("gate.enter_refused", "", reason) {
		gt.Log.Info("a hand-over to a gate host was refused", "request", rq.requestID(), "host", origin, "reason", reason)
	}
	return notEntered(rq, "entry", origin, to, status)
}

// entryFailed answers a hand-over that could not be judged.
func (gt *gateRoom) entryFailed(rq *request, err error, origin, to string) outcome {
	gt.Log.Error("a hand-over to a gate host failed", "request", rq.requestID(), "host", origin, "err", err)
	rq.retryAfter = gateRetry
	return notEntered(rq, "sessions", origin, to, http.StatusServiceUnavailable)
}

// notEntered says why a person is not signed in at a host. An empty origin means the
// service's own host.
func notEntered(rq *request, why, origin, to string, status int) outcome {
	origin = cmp.Or(origin, rq.origin)
	_, host, _ := strings.Cut(origin, "://")
	return page{name: pages.Unavailable, status: status, anyHost: true,
		view: pages.UnavailableView{Case: why, Host: host, RetryURL: origin + to, RequestID: rq.requestID()}}
}

// nameCookies names the gate's cookies.
func (gt *gateRoom) nameCookies(n *cookie.Names) {
	gt.marker, gt.attemptPrefix = n.Add("gate-seen"), n.AddPrefix("gate-tx")
}

func (gt *gateRoom) deriveKeys(ring *seal.Ring) {
	gt.handOver = handover.Keys{Attempt: ring.Sealer("gate attempt " + gt.site.base), Code: ring.Sealer("gate code " + gt.site.base)}
}
