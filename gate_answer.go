package authsvc

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"authsvc/internal/gate"
	"authsvc/internal/pages"
	"authsvc/internal/weburl"
)

// gateRoute is what requests for programs behind the gate are answered by.
var gateRoute = route{problems: true}

// markerLife is how long a browser may take from gate/start to the page that it
// wanted, and not much longer: whoever presses Back later is in no loop.
const markerLife = 10 * time.Second

// gateRetry is when to ask again while the store is away.
const gateRetry = 5 * time.Second

// turnAway answers a request that may not pass.
func (rq *request) turnAway(v verdict) outcome {
	if v.site == nil {
		return notServed
	}
	to := rq.gateDestination(v)
	switch v.Verdict {
	case gate.Malformed:
		rq.audit("gate.malformed", "", v.Reason)
		return refused(problemMalformed)
	case gate.Unjudged:
		if v.byToken {
			return rq.personalProblem(v.Err)
		}
		rq.retryAfter = gateRetry
		rq.log.Error("session could not be read", "request", rq.requestID(), "err", v.Err)
		return rq.unavailable("sessions", v.origin, http.StatusServiceUnavailable)
	case gate.Forbidden:
		return rq.forbidden(v, to)
	}
	start := rq.startURL(v)
	switch {
	case isFrame(rq.r.Header):
		return page{name: pages.Framed, status: http.StatusUnauthorized, view: pages.FramedView{SignInURL: start}, anyHost: true, framed: true}
	case rq.navigates():
		return redirect{to: start}
	case v.Verdict == gate.Stale:
		p := refused(problemTooOld)
		p.signIn, p.maxAge = start, int(v.MaxAge/time.Second)
		return p
	}
	p := refused(problemUnauthenticated)
	p.signIn = start
	return p
}

// startURL is where people are sent from what they asked for.
func (rq *request) startURL(v verdict) string {
	return rq.gateStartURL(v.origin, strings.TrimPrefix(rq.gateDestination(v), v.origin))
}

// gateDestination is where a person goes on once they are signed in: what they asked
// for, if that can be asked for again.
func (rq *request) gateDestination(v verdict) string {
	if rq.r.Method != http.MethodGet || !strings.HasPrefix(v.target, "/") {
		return v.origin + "/"
	}
	if origin, clean, ok := weburl.Parse(v.origin + v.target); ok && origin == v.origin {
		return clean
	}
	return v.origin + "/"
}

// navigates reports whether a person goes to a page. Browsers of before 2020 and
// what is no browser do not say.
func (rq *request) navigates() bool {
	h := rq.r.Header
	if !isNavigation(h) || h.Get("Upgrade") != "" {
		return false
	}
	if h.Get("Sec-Fetch-Mode") != "" {
		return true
	}
	return rq.r.Method == http.MethodGet && strings.Contains(h.Get("Accept"), "text/html") && h.Get("X-Requested-With") == ""
}

// isFrame recognises what is loaded into a frame of a page.
func isFrame(h http.Header) bool {
	switch h.Get("Sec-Fetch-Dest") {
	case "iframe", "frame", "embed", "object", "fencedframe":
		return !isPrefetch(h)
	}
	return false
}

// forbidden answers whoever is signed in and may not pass, or anybody where nobody
// may.
func (rq *request) forbidden(v verdict, to string) outcome {
	if v.Err != nil {
		rq.log.Error("a condition of the gate failed, so it does not hold", "request", rq.requestID(), "host", v.origin, "err", v.Err)
	}
	rq.auditUser = v.userID()
	rq.audit("gate.refused", AccessDenied, v.Reason)
	if v.byToken || !rq.navigates() && !isFrame(rq.r.Header) {
		return refused(problemForbidden)
	}
	view := pages.ForbiddenView{RequestID: rq.requestID()}
	if v.session != nil {
		view.Who = cmp.Or(v.session.Email, v.session.Name, v.session.UserID)
		if _, entered := rq.at().(enteredPlace); entered {
			to = rq.signInURL(v.origin, strings.TrimPrefix(to, v.origin))
		}
		view.SwitchURL = weburl.WithQuery(rq.base+"/signin", "callbackUrl", to)
	}
	return page{name: pages.Forbidden, status: http.StatusForbidden, view: view, anyHost: true}
}

// unavailable says that a program cannot be had, and why.
func (rq *request) unavailable(why, origin string, status int) outcome {
	if !rq.navigates() {
		if status == http.StatusServiceUnavailable {
			return refused(problemUnavailable)
		}
		return problem{status: status, text: "the program behind this address does not answer"}
	}
	_, host, _ := strings.Cut(origin, "://")
	return page{name: pages.Unavailable, status: status, anyHost: true,
		view: pages.UnavailableView{Case: why, Host: host, RetryURL: rq.gateDestination(verdict{origin: origin, target: targetOf(rq.r)}), RequestID: rq.requestID()}}
}

// upstreamFailed answers for a program behind the gate that did not. The log says
// why; the answer does not.
func (s *Service) upstreamFailed(w http.ResponseWriter, r *http.Request, status int, err error) {
	rq := s.request(r)
	rq.route = &gateRoute
	_, origin := s.gate.table.Find(r.Host)
	rq.log.Error("a program behind the gate does not answer", "request", rq.requestID(), "host", origin, "err", err)
	why := "upstream"
	if status == http.StatusGatewayTimeout {
		why = "timeout"
	}
	rq.respond(w, rq.unavailable(why, origin, status))
}

// gateStart: GET gate/start leads people to the sign-in page and back, at the host
// that they asked. It is the only way from the gate to a sign-in, and ends what would
// go round in circles: it judges by the cookies that it gets, and if the gate
// itself sends somebody back whom it lets pass, then the gate does not get them.
func gateStart(rq *request) outcome {
	site, origin := rq.gate.table.Find(rq.r.Host)
	if site == nil {
		return notServed
	}
	rq.route = &gateRoute
	v := rq.judge(rq.r.Host, http.MethodGet, rq.startTarget(), nil, true)
	to := rq.gateDestination(v)
	_, entered := rq.at().(enteredPlace)
	asked := entered && rq.query("signin") == "true" // to sign in, whatever this host knows so far
	switch {
	case asked && rq.navigates() && v.Verdict < gate.Unjudged:
		return rq.at().signIn(rq, to, false)
	case !rq.navigates() || v.Verdict == gate.Malformed || v.Verdict == gate.Unjudged || v.Verdict == gate.Forbidden:
		return rq.turnAway(v)
	case v.Verdict == gate.Stale:
		return rq.at().signIn(rq, to, true)
	case v.Verdict == gate.SignIn:
		return rq.at().signIn(rq, to, false)
	}
	if _, again := rq.jar.get(rq.names.gateMarker); again {
		rq.audit("gate.misconfigured", "", "what checks requests does not get the cookies of the browser")
		rq.log.Error("a person who may pass was sent to sign in: what checks the requests for this host does not get their cookies, or what it answered them is cached; pass the header Cookie on to it, and cache nothing",
			"request", rq.requestID(), "host", origin)
		rq.expireCookie(rq.names.gateMarker, "")
		return rq.unavailable("cookies", origin, http.StatusBadGateway)
	}
	rq.setCookie(cookie{name: rq.names.gateMarker, value: "1", expires: rq.now.Add(markerLife), maxAge: markerLife})
	return redirect{to: to}
}

// startTarget is where gate/start is to lead in the end.
func (rq *request) startTarget() string {
	target := rq.query("to")
	if !isPath(target) {
		target = "/"
	}
	return weburl.Escape(target)
}

// isPath reports whether browsers take it for a path of the same origin.
func isPath(target string) bool {
	return strings.HasPrefix(target, "/") && !strings.HasPrefix(target, "//") && !strings.HasPrefix(target, "/\\")
}

// An identityHeader is a header that programs learn from who is asking.
type identityHeader struct {
	name string // in canonical form
	most int    // bytes
	of   func(v *Session, origin string) string

	underscored []string // the other spellings of the name
}

// maxIdentity is the longest value of an identity header, in bytes as sent.
const maxIdentity = 1 << 10

// sayWho sets the headers that say who is asking.
func (g *gated) sayWho(s *Service, h http.Header, v verdict) {
	values := make([]string, len(g.headers))
	for n, i := range g.headers {
		value := ""
		if v.session != nil {
			value = i.of(v.session, v.origin)
		}
		if len(value) > i.most {
			if !g.tooLong.Swap(true) {
				s.log.Warn("an identity header is left out, here and silently from now on: its value is too long", "header", i.name, "bytes", len(value), "most", i.most)
			}
			value = ""
		}
		values[n] = value
		h[i.name] = values[n : n+1 : n+1]
	}
}

func (g *gated) isIdentity(name string) bool {
	for i := range g.headers {
		if gate.SameHeader(name, g.headers[i].name) {
			return true
		}
	}
	return false
}

// identityValue writes a text into a header: what is not printable ASCII, %
// and , are percent-encoded, as UTF-8.
func identityValue(s string) string {
	odd := 0
	for i := range len(s) {
		if isOdd(s[i]) {
			odd++
		}
	}
	if odd == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*odd)
	for i := range len(s) {
		if c := s[i]; isOdd(c) {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

const upperHex = "0123456789ABCDEF"

// isOdd reports whether a byte is percent-encoded in an identity header.
func isOdd(c byte) bool { return c <= ' ' || c >= 0x7f || c == '%' || c == ',' }

// varyCookie says that the answer depends on cookies.
func varyCookie(h http.Header) {
	if h["Vary"] == nil {
		h["Vary"] = hVaryCookie
		return
	}
	h.Add("Vary", hVaryCookie[0])
}

// provedEmail is the address, if it was proved: programs that know people by their
// addresses would otherwise give one's account to who only claims it.
func provedEmail(v *Session) string {
	if !v.EmailVerified {
		return ""
	}
	return identityValue(v.Email)
}

// groupsValue is the claim groups, each entry with identityValue.
func groupsValue(s *Session) string {
	var list []string
	switch v := s.Claims()["groups"].(type) {
	case string:
		list = append(list, identityValue(v))
	case []any:
		for _, e := range v {
			if text, ok := e.(string); ok && text != "" {
				list = append(list, identityValue(text))
			}
		}
	}
	return strings.Join(list, ",")
}
