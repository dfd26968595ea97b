package engine

import (
	"net/http"
	"net/url"
	"strings"

	"authsvc/engine/internal/limit"
	"authsvc/internal/text"
	"authsvc/internal/text/pages"
)

// An action answers one route and method.
type action func(*request) outcome

// A route is one path of the HTTP interface. If get or post is nil, the method is not
// allowed.
type route struct {
	name      string // the path below the base path, as in allRoutes; "/" for the base path itself
	get, post action
	limit     func(*request) *limit.Limiter // counts POSTs per client; nil: none does
	foreign   func(*request) bool           // whether another site, or a client that is not a browser, may make this POST; nil: no
	cors      func(*request) bool           // whether trusted origins may read the answer; nil: no
	internal  string                        // the method that Config.InternalHosts answer; "": none
	when      func(*request) bool           // whether the configuration has the route; nil: always
	problems  bool                          // refusals are Problems (RFC 9457)
	own       bool                          // the answer is about the user's own account
}

// always returns true for every request.
func always(*request) bool { return true }

// webRoutes returns the general routes of the interface: its error page, its files and
// its log.
func webRoutes(s *site) map[string]*route {
	return map[string]*route{
		"":            {get: home},
		"csrf":        {get: getCSRF, cors: always},
		"error":       {get: errorPage},
		"error/:code": {get: errorPage},
		"_log":        {post: logBeacon, foreign: always}, // changes nothing
		"client.js":   {get: clientScript, cors: always},  // a module import across origins is a CORS request
	}
}

// find sets rq.route from the path and the method, and with it rq.flow or rq.code.
func find(rq *request) outcome {
	path := rq.r.URL.EscapedPath()
	if path == rq.basePath {
		path = ""
	} else {
		rest, ok := strings.CutPrefix(path, rq.basePath+"/")
		if !ok { // not part of the interface, whatever the mode
			return outside(rq)
		}
		if rest == "" {
			warnSlash(rq, "/")
			return unknown(rq)
		}
		path = rest
	}
	rt := match(rq, path)
	if rt == nil {
		warnSlash(rq, path)
		return unknown(rq)
	}
	rq.route = rt
	switch {
	case rq.r.Method == http.MethodGet && rt.get != nil, rq.r.Method == http.MethodPost && rt.post != nil:
		return nil
	case rq.r.Method == http.MethodOptions && isPreflight(rq):
		return noContent{http.StatusNoContent}
	}
	return notAllowed(rq, rt)
}

// match returns the route of a path, nil if the interface does not have it.
func match(rq *request, path string) *route {
	name, segment, two := strings.Cut(path, "/")
	if two {
		if rt := rq.routes[name+"/:provider"]; rt.configured(rq) {
			if rq.flow = rq.shownFlow(segment); rq.flow == nil {
				return nil
			}
			return rt
		}
		if rt := rq.routes[name+"/:code"]; rt.configured(rq) {
			if segment == "" || len(segment) > 40 {
				return nil
			}
			rq.code = segment
			return rt
		}
	}
	if _, _, ok := rq.pages.Asset(path); ok {
		return &assetRoute
	}
	if rt := rq.routes[path]; rt.configured(rq) {
		return rt
	}
	return nil
}

// shownFlow returns the provider of an id, nil if it is not a way to sign in.
func (st *site) shownFlow(id string) flow {
	if f := st.flows[id]; f != nil && !f.info().hidden {
		return f
	}
	return nil
}

// configured reports whether the configuration has the route.
func (rt *route) configured(rq *request) bool {
	return rt != nil && (rt.when == nil || rt.when(rq))
}

// limitOf returns the rate limit that counts a POST per client, nil if there is none.
func (rt *route) limitOf(rq *request) *limit.Limiter {
	if rt == nil || rt.limit == nil {
		return nil
	}
	return rt.limit(rq)
}

// isForeign reports whether another site may make a POST.
func (rt *route) isForeign(rq *request) bool { return rt != nil && rt.foreign != nil && rt.foreign(rq) }

// allowsCORS reports whether trusted origins may read the answer.
func (rt *route) allowsCORS(rq *request) bool { return rt != nil && rt.cors != nil && rt.cors(rq) }

// hasProblems reports whether refusals are Problems.
func (rt *route) hasProblems() bool { return rt != nil && rt.problems }

// isOwn reports whether the answer is about the user's own account. Such a route has a
// page for people and JSON for scripts, which includes the code of a refusal.
func (rt *route) isOwn() bool { return rt != nil && rt.own }

// reposted reports whether a form_post response came from our own page.
func (rq *request) reposted() bool { return rq.body != nil && rq.body.get("repost") == "1" }

// unknown answers a path that is not in the interface.
func unknown(rq *request) outcome {
	answer := notFound
	if rq.sharesHost() {
		answer = reserved(rq, http.StatusNotFound)
	}
	if out := unsupported(rq); out != nil {
		return out
	}
	if rq.r.Method == http.MethodGet && wantsPage(rq.r.Header) {
		return page{name: pages.NotFound, status: http.StatusNotFound, view: pages.NotFoundView{SignInURL: rq.base + "/signin"}}
	}
	return answer
}

// unsupported answers a method as the mode does, nil if the mode has no such answer.
func unsupported(rq *request) outcome {
	switch body, json := rq.dialect.unsupported(rq.r.Method); {
	case body == "":
		return nil
	case json:
		return object{raw: []byte(body), status: http.StatusBadRequest}
	default:
		return problem{status: http.StatusBadRequest, text: body}
	}
}

// wantsPage reports whether a person asks, rather than a script: only browsers ask for
// the type of a page, and only when they navigate to one.
func wantsPage(h http.Header) bool {
	return strings.Contains(strings.Join(h["Accept"], ","), "text/html") && isNavigation(h)
}

var notFound = problem{status: http.StatusNotFound, text: "not found"}

// outside answers a path that is not below the base path. If the path was below it when
// the request came, something in the program has changed it. The log then says, once,
// what to do, and the answer refers to the log.
func outside(rq *request) outcome {
	came, err := url.ParseRequestURI(rq.r.RequestURI)
	if err != nil || came.EscapedPath() != rq.basePath && !strings.HasPrefix(came.EscapedPath(), rq.basePath+"/") {
		return notFound
	}
	rq.warned.stripped.Do(func() {
		rq.Log.Error("no route matches: the path was changed on its way to the service; mount it with its whole path, "+
			"as in mux.Handle(\""+rq.basePath+"/\", auth), without http.StripPrefix or a rewrite",
			"came", text.Printable(came.EscapedPath(), 80), "path", text.Printable(rq.r.URL.EscapedPath(), 80))
	})
	return problem{status: http.StatusNotFound, text: "not found: the path was changed on its way to the service; see its log"}
}

// warnSlash logs, once, that a request named a route with a slash at its end.
func warnSlash(rq *request, path string) {
	bare, ok := strings.CutSuffix(path, "/")
	found := ok && match(rq, bare) != nil
	rq.flow, rq.code = nil, ""
	if !found {
		return
	}
	rq.warned.slash.Do(func() {
		rq.Log.Warn("a route was requested with a slash at the end, which is wrong: call it without, and if a proxy or a framework adds it "+
			"(as trailingSlash does), turn that off for "+rq.basePath, "path", text.Printable(rq.r.URL.EscapedPath(), 80))
	})
}

// notAllowed answers a method that the route does not have.
func notAllowed(rq *request, rt *route) outcome {
	if out := unsupported(rq); out != nil && !rt.problems {
		return out
	}
	var allow []string
	if rt.get != nil {
		allow = append(allow, http.MethodGet)
	}
	if rt.post != nil {
		allow = append(allow, http.MethodPost)
	}
	return onlyBy(strings.Join(allow, ", "))
}

// onlyBy refuses all methods but those in allow.
func onlyBy(allow string) problem {
	return problem{status: http.StatusMethodNotAllowed, text: "method not allowed", allow: allow}
}

// home answers GET {base} with a redirect to the sign-in page.
func home(rq *request) outcome { return redirect{to: rq.base + "/signin"} }

func (st *site) providerName(id string) string {
	if f := st.flows[id]; f != nil {
		return f.info().name
	}
	return id
}

// gateRoute is the route of requests for programs behind the gate.
var gateRoute = route{name: "gate", problems: true}
