package engine

import (
	"net/http"
	"slices"
	"strings"

	"authsvc/internal/protocol/weburl"
	"authsvc/internal/seal"
	"authsvc/internal/text"
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

// satellites returns the routes that the gate's hosts other than the login host share
// with it, so that its clients work there. They read the session and lead to the login
// host. No POST to them reads or changes anything, so none needs a CSRF token.
func satellites(s *gateRoom) map[string]*route {
	all := map[string]*route{
		"session":          {get: s.keeper.getSession},
		"csrf":             {get: getUncheckedCSRF},
		"providers":        {get: s.desk.getProviders},
		"signin":           {get: s.signInElsewhere, post: s.signInElsewhere, foreign: always},
		"signin/:provider": {get: s.signInElsewhere, post: s.signInElsewhere, foreign: always},
		"signout":          {get: s.signOutElsewhere, post: s.signOutElsewhere, foreign: always},
	}
	nameRoutes(all)
	return all
}

// gateOwn lists the gate's routes that hosts other than the login host have.
var gateOwn = []string{"gate/start", "gate/enter", "gate/landed", "gate/leave"}

// elsewhere refuses requests to a host of the gate, other than the login host, that are
// not for that host's routes. People sign in at one host, and pages of other programs
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
	if rt := gt.satellite(rq, path); rt != nil {
		rq.route = rt
		return nil
	}
	if path == "gate/authorize" && rq.r.Method == http.MethodGet && navigates(rq) {
		return gt.renamed(rq, origin)
	}
	return reserved(rq, http.StatusMisdirectedRequest)
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

// satellite returns the route for a path and the request's method, or nil if there is
// none.
func (gt *gateRoom) satellite(rq *request, path string) *route {
	if name, id, two := strings.Cut(path, "/"); two {
		if rq.flow = rq.shownFlow(id); rq.flow == nil {
			return nil
		}
		path = name + "/:provider"
	}
	rt := gt.satellites[path]
	if rt == nil || rq.r.Method != http.MethodGet && (rq.r.Method != http.MethodPost || rt.post == nil) {
		return nil
	}
	return rt
}

// signInElsewhere redirects to the sign-in page, which leads back to this host.
func (gt *gateRoom) signInElsewhere(rq *request) outcome {
	page := "/signin"
	if rq.flow != nil {
		page += "/" + rq.providerID()
	}
	return gt.toLogin(rq, page, gt.signInURL)
}

// signOutElsewhere redirects to the sign-out page, which asks for confirmation.
func (gt *gateRoom) signOutElsewhere(rq *request) outcome {
	return gt.toLogin(rq, "/signout", gt.gateStartURL)
}

// toLogin redirects to a page of the login host. From there, gate/start leads back to
// the client's callback URL if that is at this host.
func (gt *gateRoom) toLogin(rq *request, page string, back func(origin, to string) string) outcome {
	want := rq.query("callbackUrl")
	if rq.body != nil && rq.body.get("callbackUrl") != "" {
		want = rq.body.get("callbackUrl")
	}
	_, origin := rq.hosts.Find(rq.r.Host)
	if at, clean, ok := weburl.Parse(want); ok && at == origin {
		want = strings.TrimPrefix(clean, origin)
		if path, _, _ := strings.Cut(want, "?"); path == rq.basePath+"/gate/start" {
			return gt.renamed(rq, origin) // this function makes such URLs, clients do not
		}
	}
	return redirect{to: weburl.WithQuery(rq.base+page, "callbackUrl", back(origin, gatePath(rq, origin, want)))}
}

// getUncheckedCSRF returns a token that clients can send but that nothing checks.
func getUncheckedCSRF(rq *request) outcome {
	body := append(rq.buf[:0], `{"csrfToken":`...)
	return rq.json(append(text.AppendString(body, seal.Token()), '}'))
}
