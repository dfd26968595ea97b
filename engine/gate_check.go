package engine

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"authsvc"
	"authsvc/internal/protocol/gate"
	"authsvc/internal/protocol/upstream"
	"authsvc/internal/text"
	"authsvc/stats"
)

// A checkRoute describes how a kind of proxy asks about the requests it receives. The
// proxy may use any method and any Host. Bodies are not read.
type checkRoute struct {
	original  func(rq *request, rest string) (method, host, target string, ok bool)
	below     bool // the target is the rest of the path
	codesOnly bool // the proxy accepts only 2xx, 401 and 403 as answers, as nginx does
	removes   bool // the proxy is told which client headers to remove, as Envoy is
	denies    bool // the answer goes to the browser, so it is never "allowed"
}

// checkRoutes maps the names below gate/ that proxies call to their routes.
var checkRoutes = map[string]*checkRoute{
	"forward-auth": {original: askedByHeaders},
	"auth-request": {original: askedByHeaders, codesOnly: true},
	"ext-authz":    {original: ownTarget, below: true, removes: true},
	"denied":       {original: askedByHeaders, denies: true},
}

// checkRoute finds the route by which a proxy asks, and the rest of the target after
// it. It returns nil for any other request.
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

// ChecksGate implements [Service.ChecksGate].
func (gt *gateRoom) ChecksGate(r *http.Request) bool {
	rt, _ := gt.checkRoute(r)
	return rt != nil
}

// answerCheck tells a proxy whether the request that it received may pass.
func (gt *gateRoom) answerCheck(rq *request, w http.ResponseWriter, rt *checkRoute, rest string) {
	rq.route = &gateRoute
	h := w.Header()
	varyCookie(h)
	v, out := gt.check(rq, rt, rest)
	if out == nil && rt.denies {
		out = gt.deniedBefore(rq, v)
	}
	if out == nil {
		gt.setIdentity(gt, h, v)
		// What the program receives. If there were no such headers, Caddy would pass on the names of variables.
		if h["Cookie"] = hEmpty; len(rq.r.Header["Cookie"]) > 0 {
			if kept := upstream.Cookies(rq.r.Header, rq.names.Ours); kept != "" {
				h["Cookie"] = []string{kept}
			}
		}
		h["Authorization"] = sentAuthorization(rq.r.Header, &v)
		if rt.removes {
			h["X-Envoy-Auth-Headers-To-Remove"] = gt.removed(h, rq.r.Header, v)
		}
		out = noContent{http.StatusOK}
	} else if rt.codesOnly {
		out = inCodes(h, out)
	}
	rq.respond(w, out)
}

// sentAuthorization returns the Authorization header that the program receives: the
// client's, unless that is a token for the gate.
func sentAuthorization(h http.Header, v *verdict) []string {
	if lines := h["Authorization"]; len(lines) > 0 && !v.byToken {
		return lines
	}
	return hEmpty
}

// check judges the request that a proxy asks about. A nil outcome means that it may
// pass.
func (gt *gateRoom) check(rq *request, rt *checkRoute, rest string) (verdict, outcome) {
	if !gt.fromChecker(rq) {
		gt.count(rq, &verdict{}, stats.GateUntrusted)
		return verdict{}, notSetUp(rq, "proxy", "", http.StatusForbidden)
	}
	method, host, target, ok := rt.original(rq, rest)
	if !ok {
		gt.count(rq, &verdict{}, stats.GateMalformed)
		rq.audit("gate.malformed", "", "X-Forwarded-Method, X-Forwarded-Host or X-Forwarded-Uri is missing or repeated")
		gt.warnOnceAMinute(rq, "forwarded", peerOf(rq.r).String(),
			"a proxy asks without X-Forwarded-Method, X-Forwarded-Host and X-Forwarded-Uri, or repeats one of them, so nothing passes; "+
				"it must set them, and replace those of clients and of other proxies", "proxy", rq.r.RemoteAddr)
		return verdict{}, notSetUp(rq, "headers", "", http.StatusBadRequest)
	}
	if rt.codesOnly && !sameHost(rq, rq.r.Host, host) { // nginx has chosen the server by another name than the program reads
		gt.count(rq, &verdict{}, stats.GateMalformed)
		rq.audit("gate.malformed", "", "Host and X-Forwarded-Host differ")
		gt.warnOnceAMinute(rq, "two hosts", peerOf(rq.r).String(),
			"a proxy asks with a Host and an X-Forwarded-Host that differ, so nothing passes; set both to the name of the server, which clients cannot choose", "proxy", rq.r.RemoteAddr)
		return verdict{}, notSetUp(rq, "host", host, http.StatusForbidden)
	}
	q := &question{gate: gt, rq: rq, header: rq.r.Header, touch: true, request: *rq.r}
	asked := &q.request
	asked.Method, asked.Host = method, host
	if len(asked.Header["X-Forwarded-For"]) == 0 {
		asked.RemoteAddr = "" // it is the proxy's, which must not be allowed or counted as the client
	}
	rq.r = asked
	if reason := gt.unsafeToPass(rq, rt, asked); reason != "" {
		gt.count(rq, &verdict{}, stats.GateMalformed)
		rq.audit("gate.malformed", "", reason)
		return verdict{target: target}, refused(problemMalformed)
	}
	v := q.judge(host, method, target)
	if !rt.denies { // otherwise, it was counted when the proxy asked
		gt.decided(rq, &v)
	}
	gt.renewOnce(rq)
	switch {
	case v.site == nil:
		gt.warnOnceAMinute(rq, "host", host,
			"a proxy asks about a host that is not in gate.hosts, so nothing passes there; add it, or make the proxy set X-Forwarded-Host to the host that the browser requested", "host", text.Printable(host, 100))
		return v, notSetUp(rq, "host", host, http.StatusForbidden)
	case v.Verdict == gate.Allowed:
		return v, nil
	case strings.HasPrefix(target, rq.basePath+"/"): // the proxy would ask about a redirect to gate/start again
		rq.audit("gate.misconfigured", "", "a proxy asks about the routes of the service")
		gt.warnOnceAMinute(rq, "routes", v.origin,
			"a proxy asks about authsvc's own routes, so people cannot sign in there; it must pass requests below this path on to authsvc without asking", "host", v.origin, "path", rq.basePath+"/")
		_, name, _ := strings.Cut(v.origin, "://")
		return v, notSetUp(rq, "routes", name, http.StatusForbidden)
	}
	return v, gt.refuseVisitor(rq, v)
}

// sameHost reports whether two Host headers name the same host of the gate.
func sameHost(rq *request, a, b string) bool {
	_, one := rq.hosts.Find(a)
	_, other := rq.hosts.Find(b)
	return one == other
}

// unsafeToPass says why a request that a proxy passes on unchanged may not pass for any
// user: the gate cannot remove the parts that programs read differently.
func (gt *gateRoom) unsafeToPass(rq *request, rt *checkRoute, asked *http.Request) string {
	site, _ := rq.hosts.Find(asked.Host)
	if site == nil {
		return ""
	}
	f := &gt.forwards[site.Index()]
	if len(asked.Header["Upgrade"]) > 0 && gate.Upgrade(asked.Method, asked.Header, f.protocols) == "" {
		return "a protocol upgrade"
	}
	if !rt.removes && gt.ambiguous(asked.Header, f) != "" {
		return "a header that some programs mistake for another"
	}
	return ""
}

// deniedBefore answers at gate/denied if the request may pass although the proxy's check
// refused it. If the check refuses it again and again, the proxy does not send the check
// everything that it sends to gate/denied, such as the cookies. gate/start detects that.
func (gt *gateRoom) deniedBefore(rq *request, v verdict) outcome {
	if navigates(rq) {
		return redirect{to: gt.startURL(rq, v)}
	}
	rq.retryAfter = gateRetry
	return refused(problemUnavailable)
}

// fromChecker reports whether the request comes from a proxy that may ask.
func (gt *gateRoom) fromChecker(rq *request) bool {
	peer := peerOf(rq.r)
	if slices.ContainsFunc(gt.proxies, func(p netip.Prefix) bool { return p.Contains(peer) }) {
		return true
	}
	rq.audit("gate.untrusted_proxy", authsvc.CodeAccessDenied, "not in gate.proxies")
	gt.warnOnceAMinute(rq, "peer", peer.String(),
		"refused a gate check: the client is not in gate.proxies; if it is your proxy, add its address there and to trusted_proxies", "peer", peer.String())
	return false
}

// askedByHeaders reads the proxied request from its three X-Forwarded headers. It refuses
// values that two proxies have joined in one line, since the first part could come from
// the client.
func askedByHeaders(rq *request, _ string) (method, host, target string, ok bool) {
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

// ownTarget returns the proxied request without our path in front of its target.
func ownTarget(rq *request, rest string) (method, host, target string, ok bool) {
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	return rq.r.Method, rq.r.Host, rest, true
}
