package engine

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"authsvc"
	"authsvc/internal/protocol/gate"
	"authsvc/internal/protocol/upstream"
	"authsvc/internal/seal"
	"authsvc/internal/text"
	"authsvc/internal/text/pages"
)

// A checkRoute is how a kind of proxy asks about the requests that it gets. It does
// so by any method and with any Host, and bodies are not read.
type checkRoute struct {
	original  func(rq *request, rest string) (method, host, target string, ok bool)
	below     bool // the target is the rest of the path
	codesOnly bool // the proxy takes 2xx, 401 and 403 alone for answers, as nginx does
	removes   bool // the proxy is told which headers of the client to remove, as Envoy is
	denies    bool // what it answers goes to the browser: a yes is not for it
}

// checkRoutes are the routes below gate/ that proxies ask.
var checkRoutes = map[string]*checkRoute{
	"forward-auth": {original: forwarded},
	"auth-request": {original: forwarded, codesOnly: true},
	"ext-authz":    {original: asItCame, below: true, removes: true},
	"denied":       {original: forwarded, denies: true},
}

// checkRoute finds the route by which a proxy asks, and what is left of the target
// after it; nil if this is no such request.
func (gt *gateRoom) checkRoute(r *http.Request) (rt *checkRoute, rest string) {
	if gt.site.hosts == nil {
		return nil, ""
	}
	path, ok := strings.CutPrefix(targetOf(r), gt.site.basePath+"/gate/")
	if !ok {
		return nil, ""
	}
	end := strings.IndexAny(path+"?", "/?")
	rt, rest = checkRoutes[path[:end]], path[end:]
	if rt == nil || !rt.below && strings.HasPrefix(rest, "/") {
		return nil, ""
	}
	return rt, rest
}

// ChecksGate is [Service.ChecksGate].
func (gt *gateRoom) ChecksGate(r *http.Request) bool {
	rt, _ := gt.checkRoute(r)
	return rt != nil
}

// answerCheck tells a proxy whether the request that it got may pass.
func (gt *gateRoom) answerCheck(rq *request, w http.ResponseWriter, rt *checkRoute, rest string) {
	rq.route = &gateRoute
	h := w.Header()
	varyCookie(h)
	v, out := gt.check(rq, rt, rest)
	if out == nil && rt.denies {
		out = gt.deniedBefore(rq, v)
	}
	if out == nil {
		gt.sayWho(gt, h, v)
		h["Cookie"] = []string{upstream.Cookies(rq.r.Header, rq.names.Ours)} // what the program gets of them; Caddy passes on the name of a variable for none
		if rt.removes {
			h["X-Envoy-Auth-Headers-To-Remove"] = gt.removed(h, rq.r.Header, v)
		}
		out = noContent{http.StatusOK}
	} else if rt.codesOnly {
		out = inCodes(h, out)
	}
	rq.respond(w, out)
}

// check judges what a proxy asks about; without an outcome it may pass.
func (gt *gateRoom) check(rq *request, rt *checkRoute, rest string) (verdict, outcome) {
	if !gt.fromChecker(rq) {
		gt.count(rq, &verdict{}, authsvc.GateUntrusted)
		return verdict{}, notSetUp(rq, "proxy", "", http.StatusForbidden)
	}
	method, host, target, ok := rt.original(rq, rest)
	if !ok {
		gt.count(rq, &verdict{}, authsvc.GateMalformed)
		rq.audit("gate.malformed", "", "not one each of X-Forwarded-Method, X-Forwarded-Host and X-Forwarded-Uri")
		gt.warnOnceAMinute(rq, "forwarded", peerOf(rq.r).String(),
			"a proxy asks without X-Forwarded-Method, X-Forwarded-Host and X-Forwarded-Uri, or with more than one of each, and so nothing passes; "+
				"it has to set them, over those of clients and of other proxies", "proxy", rq.r.RemoteAddr)
		return verdict{}, notSetUp(rq, "headers", "", http.StatusBadRequest)
	}
	if rt.codesOnly && !sameHost(rq, rq.r.Host, host) { // nginx has chosen the server by another name than the program reads
		gt.count(rq, &verdict{}, authsvc.GateMalformed)
		rq.audit("gate.malformed", "", "Host and X-Forwarded-Host differ")
		gt.warnOnceAMinute(rq, "two hosts", peerOf(rq.r).String(),
			"a proxy asks with a Host and an X-Forwarded-Host that differ, and so nothing passes; set both to the name of the server, which clients cannot choose", "proxy", rq.r.RemoteAddr)
		return verdict{}, notSetUp(rq, "host", host, http.StatusForbidden)
	}
	asked := *rq.r
	asked.Method, asked.Host = method, host
	if len(asked.Header["X-Forwarded-For"]) == 0 {
		asked.RemoteAddr = "" // the proxy's, and nobody's who is to be let in, or counted, by it
	}
	rq.r = &asked
	if reason := gt.unsafeToPass(rq, rt, &asked); reason != "" {
		gt.count(rq, &verdict{}, authsvc.GateMalformed)
		rq.audit("gate.malformed", "", reason)
		return verdict{target: target}, refused(problemMalformed)
	}
	v := gt.judge(rq, host, method, target, asked.Header, true)
	if !rt.denies { // it was counted when the proxy asked
		gt.decided(rq, &v)
	}
	gt.renewOnce(rq)
	switch {
	case v.site == nil:
		gt.warnOnceAMinute(rq, "host", host,
			"a proxy asks about a host that is not in gate.hosts, and so nothing passes there; add it, or let the proxy set X-Forwarded-Host to the host that the browser asked for", "host", text.Printable(host, 100))
		return v, notSetUp(rq, "host", host, http.StatusForbidden)
	case v.Verdict == gate.Allowed:
		return v, nil
	case strings.HasPrefix(target, rq.basePath+"/"): // a redirect to gate/start would be asked about again
		rq.audit("gate.misconfigured", "", "a proxy asks about the routes of the service")
		gt.warnOnceAMinute(rq, "routes", v.origin,
			"a proxy asks about our own routes, and so nobody can sign in there; it has to pass what is below this path on to us without asking", "host", v.origin, "path", rq.basePath+"/")
		_, name, _ := strings.Cut(v.origin, "://")
		return v, notSetUp(rq, "routes", name, http.StatusForbidden)
	}
	return v, gt.turnAway(rq, v)
}

// sameHost reports whether two Host headers are of one host of the gate.
func sameHost(rq *request, a, b string) bool {
	_, one := rq.hosts.Find(a)
	_, other := rq.hosts.Find(b)
	return one == other
}

// unsafeToPass says why a request that a proxy passes on as it came may not pass,
// whoever sends it: the gate cannot take out of it what programs read differently.
func (gt *gateRoom) unsafeToPass(rq *request, rt *checkRoute, asked *http.Request) string {
	site, _ := rq.hosts.Find(asked.Host)
	if site == nil {
		return ""
	}
	f := &gt.forwards[site.Index()]
	if len(asked.Header["Upgrade"]) > 0 && gate.Upgrade(asked.Method, asked.Header, f.protocols) == "" {
		return "a change of the protocol"
	}
	if !rt.removes && gt.ambiguous(asked.Header, f) != "" {
		return "a header that some programs take for another"
	}
	return ""
}

// deniedBefore answers the browser where a proxy has refused what may pass. If that
// goes on it is because the check does not get what this request has, such as the
// cookies: gate/start finds out.
func (gt *gateRoom) deniedBefore(rq *request, v verdict) outcome {
	if navigates(rq) {
		return redirect{to: gt.startURL(rq, v)}
	}
	rq.retryAfter = gateRetry
	return refused(problemUnavailable)
}

// notSetUp answers what nobody may see since a proxy is not configured right: for
// people with a page that names the cause.
func notSetUp(rq *request, why, host string, status int) outcome {
	if navigates(rq) {
		return page{name: pages.Unavailable, status: status, anyHost: true,
			view: pages.UnavailableView{Case: why, Host: text.Printable(host, 100), RequestID: rq.requestID()}}
	}
	if status == http.StatusBadRequest {
		return refused(problemMalformed)
	}
	return refused(problemForbidden)
}

// warnOnceAMinute logs what somebody outside has a hand in: of each kind about each
// of them once a minute, and 64 times at most.
func (gt *gateRoom) warnOnceAMinute(rq *request, kind, about, message string, args ...any) {
	digest := sha256.Sum256([]byte(about))
	key := fmt.Sprintf("gate %s %d", kind, digest[0]%64)
	if gt.fleet.FirstInMinute(key, rq.now) {
		gt.Log.Warn(message, args...)
	}
}

// renewOnce leaves at most one cookie in the answer: proxies such as nginx pass one
// line on, and of a session in several cookies one alone would be its end. That one
// is renewed by pages. Cookies that are renewed and come again as they were are
// logged.
func (gt *gateRoom) renewOnce(rq *request) {
	if len(rq.set) > 1 {
		rq.set = nil
	}
	old := rq.sessionCookieValue()
	if len(rq.set) == 1 && rq.set[0].Value != old && gt.overdue.Again(seal.Digest(old), rq.now) {
		gt.Log.Warn("sessions end although they are used, since their new cookies do not get to the browser: have the proxy pass Set-Cookie of the answers about requests on, "+
			"with nginx by auth_request_set and add_header; this is not logged again", "host", rq.r.Host)
	}
}

// forwarded reads the request that a proxy got from its three headers. What two
// proxies have joined into one line is refused: the first part could be the client's.
func forwarded(rq *request, _ string) (method, host, target string, ok bool) {
	var one [3]string
	for i, name := range [3]string{"X-Forwarded-Method", "X-Forwarded-Host", "X-Forwarded-Uri"} {
		values := rq.r.Header[name]
		if len(values) != 1 || values[0] == "" {
			return "", "", "", false
		}
		one[i] = values[0]
	}
	method, host, target = one[0], one[1], one[2]
	joined := strings.Contains(host, ",") || strings.Contains(target, ",/") || strings.ContainsAny(target, " \t")
	return method, host, target, !joined && httpguts.ValidHeaderFieldName(method)
}

// asItCame is the request that a proxy got, with our path in front of its target.
func asItCame(rq *request, rest string) (method, host, target string, ok bool) {
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	return rq.r.Method, rq.r.Host, rest, true
}

// fromChecker reports whether the request comes from a proxy that may ask.
func (gt *gateRoom) fromChecker(rq *request) bool {
	peer := peerOf(rq.r)
	if slices.ContainsFunc(gt.proxies, func(p netip.Prefix) bool { return p.Contains(peer) }) {
		return true
	}
	rq.audit("gate.untrusted_proxy", authsvc.CodeAccessDenied, "not in gate.proxies")
	gt.warnOnceAMinute(rq, "peer", peer.String(),
		"refused to say whether a request may pass: who asks is not in gate.proxies; if it is a proxy of yours, add its address there and to trusted_proxies", "peer", peer.String())
	return false
}

// peerOf is the address that a request comes from, without what anybody claims.
func peerOf(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap().WithZone("")
}

// inCodes is an answer for proxies that know 401 and 403 alone: where a person is to
// go on stands in Location, which the proxy's configuration turns into a redirect.
func inCodes(h http.Header, out outcome) outcome {
	switch o := out.(type) {
	case redirect:
		h.Set("Location", o.to)
		p := refused(problemUnauthenticated)
		p.signIn = o.to
		return p
	case problem:
		if o.status == http.StatusBadRequest || o.status == http.StatusTooManyRequests {
			return refused(problemForbidden)
		}
	case page:
		if o.status == http.StatusBadRequest {
			o.status = http.StatusForbidden
			return o
		}
	}
	return out
}

// removed names the headers that Envoy takes out of what the client sent, as it does
// after it has added ours: those of ours that say nothing, the spellings of all that
// CGI takes for the same, and what else does not arrive. A personal access token is not
// for the program.
func (g *gateRoom) removed(h, sent http.Header, v verdict) []string {
	var names []string
	if v.byToken {
		names = append(names, "authorization")
	}
	if h.Get("Cookie") == "" {
		names = append(names, "cookie")
	}
	for _, i := range g.headers {
		name := strings.ToLower(i.name)
		if h.Get(i.name) == "" {
			names = append(names, name)
		}
		names = append(names, i.underscored...)
	}
	f := &g.forwards[v.site.Index()]
	for name := range sent {
		if odd := !gate.PlainName(name); (odd || !g.isIdentity(name)) && !g.arrives(name, f) {
			names = append(names, strings.ToLower(name))
		}
	}
	for _, name := range gate.MisleadingNames() {
		if _, seen := sent[textproto.CanonicalMIMEHeaderKey(name)]; !seen && !g.arrives(name, f) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{strings.Join(names, ",")}
}

// underscored are the spellings of a name, in small letters, with _ for some - or all,
// which CGI takes for the same.
func underscored(name string) []string {
	spellings := []string{""}
	for part := range strings.SplitAfterSeq(strings.ToLower(name), "-") {
		word, more := strings.CutSuffix(part, "-")
		other := make([]string, 0, 2*len(spellings))
		for _, s := range spellings {
			if more {
				other = append(other, s+word+"-", s+word+"_")
			} else {
				other = append(other, s+word)
			}
		}
		spellings = other
	}
	return spellings[1:]
}

// checkers compiles Config.Gate.Proxies. Whoever asks about requests has to be
// believed about their clients, too: else rules about networks would go by the
// address of the proxy.
func (b *builder) checkers(s *gateRoom) {
	s.proxies = b.config.Gate.Proxies
	if len(s.proxies) == 0 {
		s.proxies = s.site.proxies
	}
	for i, p := range b.config.Gate.Proxies {
		within := func(t netip.Prefix) bool { return t.Bits() <= p.Bits() && t.Contains(p.Addr()) }
		if !slices.ContainsFunc(s.site.proxies, within) {
			b.fail(fmt.Sprintf("Gate.Proxies[%d]", i), p.String()+" is not among the trusted proxies", "add it there, so that the addresses of clients are known", "TrustedProxies")
		}
	}
}
