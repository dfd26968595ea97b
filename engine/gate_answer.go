package engine

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"authsvc"
	"authsvc/engine/internal/audit"
	"authsvc/engine/internal/cookie"
	"authsvc/internal/protocol/gate"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/pages"
)

// markerLife limits how long a browser may take from gate/start to the requested page.
// It is short so that pressing Back later does not count as a loop.
const markerLife = 10 * time.Second

// refuseVisitor answers a request that may not pass.
func (gt *gateRoom) refuseVisitor(rq *request, v verdict) outcome {
	if v.site == nil {
		return notServed
	}
	to := gateDestination(rq, v)
	switch v.Verdict {
	case gate.Malformed:
		rq.audit("gate.malformed", "", v.Reason)
		return refused(problemMalformed)
	case gate.Unjudged:
		if v.byToken {
			return gt.issuer.personalProblem(rq, v.Err)
		}
		rq.retryAfter = gateRetry
		gt.Log.Error("cannot read the session", "request", rq.requestID(), "err", v.Err)
		return unavailable(rq, "sessions", v.origin, http.StatusServiceUnavailable)
	case gate.Forbidden:
		return gt.forbidden(rq, v, to)
	}
	start := gt.startURL(rq, v)
	switch {
	case isFrame(rq.r.Header):
		return page{name: pages.Framed, status: http.StatusUnauthorized, view: pages.FramedView{SignInURL: start}, anyHost: true, framed: true}
	case navigates(rq):
		return redirect{to: start}
	case v.Verdict == gate.Stale:
		p := refused(problemTooOld)
		p.signIn, p.maxAge = start, int(v.MaxAge/time.Second)
		return p
	}
	p := refused(problemUnauthenticated)
	if p.signIn = start; gt.forwards[v.site.Index()].tokens {
		p.challenge = cookieChallenge + `, Bearer realm="authsvc"`
	}
	return p
}

// startURL returns the URL to which people are sent from the page they requested.
func (gt *gateRoom) startURL(rq *request, v verdict) string {
	return gt.gateStartURL(v.origin, strings.TrimPrefix(gateDestination(rq, v), v.origin))
}

// gateDestination returns the page to open after signing in: the requested one, if it
// can be requested again.
func gateDestination(rq *request, v verdict) string {
	if rq.r.Method != http.MethodGet || !strings.HasPrefix(v.target, "/") {
		return v.origin + "/"
	}
	if origin, clean, ok := weburl.Parse(v.origin + v.target); ok && origin == v.origin {
		return clean
	}
	return v.origin + "/"
}

// navigates reports whether a person opens a page. Browsers from before 2020 and other
// clients do not say so; their Accept header decides.
func navigates(rq *request) bool {
	h := rq.r.Header
	if !isNavigation(h) || h.Get("Upgrade") != "" {
		return false
	}
	if h.Get("Sec-Fetch-Mode") != "" {
		return true
	}
	return rq.r.Method == http.MethodGet && strings.Contains(h.Get("Accept"), "text/html") && h.Get("X-Requested-With") == ""
}

// isFrame reports whether the request loads content into a frame of a page.
func isFrame(h http.Header) bool {
	switch h.Get("Sec-Fetch-Dest") {
	case "iframe", "frame", "embed", "object", "fencedframe":
		return !isPrefetch(h)
	}
	return false
}

// forbidden answers a signed-in user who may not pass, or any request where no one may
// pass.
func (gt *gateRoom) forbidden(rq *request, v verdict, to string) outcome {
	if v.Err != nil {
		gt.Log.Error("a condition of the gate failed and counts as not met", "request", rq.requestID(), "host", v.origin, "err", v.Err)
	}
	rq.auditUser = v.userID()
	rq.audit("gate.refused", authsvc.CodeAccessDenied, v.Reason)
	if v.byToken || !navigates(rq) && !isFrame(rq.r.Header) {
		return refused(problemForbidden)
	}
	view := pages.ForbiddenView{RequestID: rq.requestID()}
	if v.session != nil {
		view.Who = cmp.Or(v.session.Email, v.session.Name, v.session.UserID)
		if _, entered := rq.at().(enteredPlace); entered {
			to = gt.signInURL(v.origin, strings.TrimPrefix(to, v.origin))
		}
		view.SwitchURL = weburl.WithQuery(rq.base+"/signin", "callbackUrl", to)
	}
	return page{name: pages.Forbidden, status: http.StatusForbidden, view: view, anyHost: true}
}

// unavailable says that a program is unavailable, and why.
func unavailable(rq *request, why, origin string, status int) outcome {
	if !navigates(rq) {
		if status == http.StatusServiceUnavailable {
			return refused(problemUnavailable)
		}
		return problem{status: status, text: "the program behind this address does not respond"}
	}
	return page{name: pages.Unavailable, status: status, anyHost: true, view: unavailableView(rq, why, origin)}
}

// unavailableView says which program is unavailable, and why.
func unavailableView(rq *request, why, origin string) pages.UnavailableView {
	_, host, _ := strings.Cut(origin, "://")
	return pages.UnavailableView{Case: why, Host: host, RetryURL: gateDestination(rq, verdict{origin: origin, target: targetOf(rq.r)}), RequestID: rq.requestID()}
}

// upstreamFailed answers for a program behind the gate that failed. The cause is in the
// log and not in the answer.
func (gt *gateRoom) upstreamFailed(w http.ResponseWriter, r *http.Request, status int, err error) {
	rq := gt.site.newRequest(r)
	rq.route = &gateRoute
	_, origin := gt.site.hosts.Find(r.Host)
	gt.Log.Error("a program behind the gate does not respond", "request", rq.requestID(), "host", origin, "err", err)
	why := "upstream"
	if status == http.StatusGatewayTimeout {
		why = "timeout"
	}
	rq.respond(w, unavailable(rq, why, origin, status))
}

// gateStart handles GET gate/start, at the requested host. It leads people to the
// sign-in page and back, and is the only way from the gate to a sign-in. It also stops
// redirect loops: it judges by the cookies it receives. If the gate sends back a person
// whom gateStart lets pass, then the gate does not receive those cookies.
func (gt *gateRoom) gateStart(rq *request) outcome {
	site, origin := rq.hosts.Find(rq.r.Host)
	if site == nil {
		return notServed
	}
	rq.route = &gateRoute
	v := gt.judge(rq, rq.r.Host, http.MethodGet, startTarget(rq), nil, true)
	to := gateDestination(rq, v)
	_, entered := rq.at().(enteredPlace)
	asked := rq.query("signin") == "true" // the person wants to sign in, even if anyone may open the page
	switch {
	case asked && (entered || v.session == nil) && navigates(rq) && v.Verdict < gate.Unjudged: // if entered, the login host may have a newer session
		return gt.leadToSignIn(rq, to, false)
	case !navigates(rq) || v.Verdict == gate.Malformed || v.Verdict == gate.Unjudged || v.Verdict == gate.Forbidden:
		return gt.refuseVisitor(rq, v)
	case v.Verdict == gate.Stale:
		return gt.leadToSignIn(rq, to, true)
	case v.Verdict == gate.SignIn:
		return gt.leadToSignIn(rq, to, false)
	case asked: // by a link of the program, so this is not a loop
		return redirect{to: to}
	}
	if _, again := rq.jar.Get(gt.marker); again {
		rq.audit("gate.misconfigured", "", "the gate does not get the browser's cookies")
		gt.Log.Error("a user who may pass was sent to sign in: the gate does not get the cookies of requests for this host, or its answers are cached; pass the Cookie header on to it, and do not cache its answers",
			"request", rq.requestID(), "host", origin)
		rq.expireCookie(gt.marker, "")
		return unavailable(rq, "cookies", origin, http.StatusBadGateway)
	}
	rq.setCookie(cookie.Cookie{Name: gt.marker, Value: "1", Expires: rq.now.Add(markerLife), MaxAge: markerLife})
	return redirect{to: to}
}

// startTarget returns where gate/start leads in the end.
func startTarget(rq *request) string {
	target := rq.query("to")
	if !isPath(target) {
		target = "/"
	}
	return weburl.Escape(target)
}

// isPath reports whether browsers treat target as a path of the same origin.
func isPath(target string) bool {
	return strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "//") && !strings.HasPrefix(target, "/\\")
}

// varyCookie says that the answer depends on cookies.
func varyCookie(h http.Header) {
	if h["Vary"] == nil {
		h["Vary"] = hVaryCookie
		return
	}
	h.Add("Vary", hVaryCookie[0])
}

// gateEvents lists the events of the gate.
var gateEvents = []audit.Kind{
	{Name: "gate.refused", Outcome: authsvc.AuditRefused, Meaning: "The gate refused a request: its rules do not admit the user or admit nobody, a WebSocket came from another origin, or an access token was not valid."},
	{Name: "gate.malformed", Outcome: authsvc.AuditRefused, Meaning: "A request for a program behind the gate had an invalid target, or one that servers read in different ways."},
	{Name: "gate.untrusted_proxy", Outcome: authsvc.AuditRefused, Meaning: "A client that is not in `gate.proxies` called a gate check endpoint."},
	{Name: "gate.misconfigured", Outcome: authsvc.AuditRefused, Meaning: "The gate asked a person to sign in who is signed in and may pass: requests to the gate come without the cookies that the browser sends to authsvc's own routes. Or a proxy asks whether requests for authsvc's own routes may pass. Or requests for the host of `url` arrive under the name of a gate host."},
	{Name: "gate.entered", Outcome: authsvc.AuditSuccess, Meaning: "A signed-in person got the cookie of a gate host that the session cookie does not reach."},
	{Name: "gate.enter_refused", Outcome: authsvc.AuditRefused, Meaning: "A gate host did not get its cookie: the code was forged, late, used before, for another host or from another browser; the host is not configured; the session data is too large for its cookie; or the browser keeps no cookies for it."},
}
