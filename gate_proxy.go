package authsvc

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"authsvc/internal/gate"
)

// A checkRoute is how a kind of proxy asks about the requests that it gets. It does
// so by any method and with any Host, and bodies are not read.
type checkRoute struct {
	original  func(rq *request, rest string) (method, host, target string, ok bool)
	below     bool // the target is the rest of the path
	codesOnly bool // the proxy takes 2xx, 401 and 403 alone for answers, as nginx does
	removes   bool // the proxy is told which headers of the client to remove, as Envoy is
}

// checkRoutes are the routes below gate/ that proxies ask.
var checkRoutes = map[string]*checkRoute{
	"forward-auth": {original: forwarded},
	"auth-request": {original: forwarded, codesOnly: true},
	"ext-authz":    {original: asItCame, below: true, removes: true},
}

// checkRoute finds the route by which a proxy asks, and what is left of the target
// after it; nil if this is no such request.
func (s *Service) checkRoute(r *http.Request) (rt *checkRoute, rest string) {
	if s.gate.table == nil {
		return nil, ""
	}
	path, ok := strings.CutPrefix(targetOf(r), s.basePath+"/gate/")
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

// ChecksGate reports whether a proxy asks by this request whether another may pass.
// ServeHTTP answers that whatever Host says, and only to Config.Gate.Proxies; a
// program that serves the host of URL only lets it through as well.
func (s *Service) ChecksGate(r *http.Request) bool {
	rt, _ := s.checkRoute(r)
	return rt != nil
}

// answerCheck tells a proxy whether the request that it got may pass.
func (rq *request) answerCheck(w http.ResponseWriter, rt *checkRoute, rest string) {
	rq.route = &gateRoute
	h := w.Header()
	h.Add("Vary", "Cookie")
	v, out := rq.check(rt, rest)
	if out == nil {
		for name, values := range rq.gate.identify(rq.Service, nil, v) {
			h[name] = values
		}
		if rt.removes {
			h["X-Envoy-Auth-Headers-To-Remove"] = rq.gate.removed(h)
		}
		out = noContent{http.StatusOK}
	} else if rt.codesOnly {
		out = inCodes(h, out)
	}
	rq.respond(w, out)
}

// check judges what a proxy asks about; without an outcome it may pass.
func (rq *request) check(rt *checkRoute, rest string) (verdict, outcome) {
	if !rq.fromChecker() {
		return verdict{}, refused(problemForbidden)
	}
	method, host, target, ok := rt.original(rq, rest)
	if !ok {
		rq.audit("gate.malformed", "", "not one each of X-Forwarded-Method, X-Forwarded-Host and X-Forwarded-Uri")
		rq.warned.forwarded.Do(func() {
			rq.log.Warn("a proxy asks without X-Forwarded-Method, X-Forwarded-Host and X-Forwarded-Uri, or with more than one of each, and so nothing passes; "+
				"it has to set them, over those of clients and of other proxies", "proxy", rq.r.RemoteAddr)
		})
		return verdict{}, refused(problemMalformed)
	}
	asked := *rq.r
	asked.Method, asked.Host = method, host
	if len(asked.Header["X-Forwarded-For"]) == 0 {
		asked.RemoteAddr = "" // the proxy's, and nobody's who is to be let in by it
	}
	rq.r = &asked
	v := rq.judge(host, method, target, asked.Header, true)
	switch {
	case v.site == nil:
		rq.warned.unknownHost.Do(func() {
			rq.log.Warn("a proxy asks about a host that is not in gate.hosts, and so nothing passes there; this is not logged again", "host", printable(host, 100))
		})
		return v, refused(problemForbidden)
	case v.Verdict != gate.Allowed:
		return v, rq.turnAway(v)
	}
	return v, nil
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
func (rq *request) fromChecker() bool {
	var peer netip.Addr
	if ap, err := netip.ParseAddrPort(rq.r.RemoteAddr); err == nil {
		peer = ap.Addr().Unmap().WithZone("")
	}
	if slices.ContainsFunc(rq.gate.proxies, func(p netip.Prefix) bool { return p.Contains(peer) }) {
		return true
	}
	if rq.audit("gate.untrusted_proxy", AccessDenied, "not in gate.proxies") {
		rq.log.Warn("refused to say whether a request may pass: who asks is not in gate.proxies; if it is a proxy of yours, add its address there and to trusted_proxies", "peer", peer.String())
	}
	return false
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
		if o.status == http.StatusBadRequest {
			return refused(problemForbidden)
		}
	}
	return out
}

// removed names the headers that Envoy takes out of what the client sent, as it does
// after it has added ours: those of ours that say nothing, and the spellings of all
// that CGI takes for the same.
func (g *gated) removed(h http.Header) []string {
	var names []string
	for _, i := range g.headers {
		name := strings.ToLower(i.name)
		if h.Get(i.name) == "" {
			names = append(names, name)
		}
		if other := strings.ReplaceAll(name, "-", "_"); other != name {
			names = append(names, other)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{strings.Join(names, ",")}
}

// checkers compiles Config.Gate.Proxies. Whoever asks about requests has to be
// believed about their clients, too: else rules about networks would go by the
// address of the proxy.
func (b *builder) checkers(s *Service) {
	s.gate.proxies = b.config.Gate.Proxies
	if len(s.gate.proxies) == 0 {
		s.gate.proxies = s.proxies
	}
	for i, p := range b.config.Gate.Proxies {
		within := func(t netip.Prefix) bool { return t.Bits() <= p.Bits() && t.Contains(p.Addr()) }
		if !slices.ContainsFunc(s.proxies, within) {
			b.fail(fmt.Sprintf("Gate.Proxies[%d]", i), p.String()+" is not among the trusted proxies", "add it there, so that the addresses of clients are known", "TrustedProxies")
		}
	}
}
