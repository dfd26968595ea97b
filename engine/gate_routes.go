package engine

import (
	"net/http"
	"slices"
	"strings"

	"authsvc/internal/protocol/weburl"
)

// gateRoutes returns the routes for programs behind the gate.
func gateRoutes(s *gateRoom) map[string]*route {
	gates := func(*request) bool { return s.site.hosts != nil }
	return map[string]*route{
		"gate/start":     {get: s.gateStart, when: gates},
		"gate/authorize": {get: s.gateAuthorize, when: gates, problems: true},
		"gate/enter":     {get: s.gateEnter, when: gates, problems: true},
		"gate/landed":    {get: s.gateLanded, when: gates, problems: true},
		"gate/leave":     {get: s.gateLeave, when: gates, problems: true},
	}
}

// gateOwn lists the gate's routes that hosts other than the login host have.
var gateOwn = []string{"gate/start", "gate/enter", "gate/landed", "gate/leave"}

// elsewhere refuses requests to a host of the gate, other than the login host, that are
// not for the gate's own routes. People sign in at one host, and pages of other programs
// must not reach it by another name.
func (gt *gateRoom) elsewhere(rq *request) outcome {
	site, origin := rq.hosts.Find(rq.r.Host)
	if site == nil || origin == rq.origin {
		return nil
	}
	path, below := strings.CutPrefix(rq.r.URL.EscapedPath(), rq.basePath+"/")
	if !below && path != rq.basePath {
		return notServed
	}
	if _, _, asset := rq.pages.Asset(path); asset || slices.Contains(gateOwn, path) {
		return nil
	}
	if forLogin(rq, path, origin) {
		return gt.renamed(rq, origin)
	}
	return reserved(rq, http.StatusMisdirectedRequest)
}

// forLogin reports whether a person follows a redirect or link of the gate to the login
// host, although the request names another host. A navigation from a page of that host
// to the same host is not such a request.
func forLogin(rq *request, path, origin string) bool {
	if rq.r.Method != http.MethodGet || !navigates(rq) || rq.r.Header.Get("Sec-Fetch-Site") == "same-origin" {
		return false
	}
	switch path {
	case "gate/authorize":
		return true
	case "signin", "confirm", "signout":
		back, _, ok := weburl.Parse(rq.query("callbackUrl"))
		return ok && back == origin
	}
	return false
}

// renamed answers a request that was meant for the login host but arrived with this
// host's name. A redirect would send it there again in an endless loop.
func (gt *gateRoom) renamed(rq *request, origin string) outcome {
	rq.audit("gate.misconfigured", "", "requests for the host of the URL arrive under another name")
	gt.warnOnceAMinute(rq, "renamed", origin,
		"people are sent to sign in at the host of the URL, but their requests there arrive as if they were for a gate host; a proxy must pass on the browser's Host header, and the URL must be the one that browsers use",
		"url", rq.origin, "host", origin)
	_, host, _ := strings.Cut(rq.origin, "://")
	return notSetUp(rq, "login", host, http.StatusForbidden)
}
