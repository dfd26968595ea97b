package authsvc

import (
	_ "embed" // the browser client
	"net/http"
	"strings"

	"authsvc/internal/seal"
)

// An action answers one route and method.
type action func(*request) outcome

// A route is one line of the HTTP interface. A nil action means that the
// method is not allowed.
type route struct {
	get, post action
	// open: the POST does its own origin check (form_post callbacks) or
	// changes nothing (_log).
	open bool
	cors bool // trusted origins may read the answer
}

// routes is the HTTP interface below the base path. ":provider" is a
// configured provider's id, ":code" an error word. Paths are matched exactly
// and as escaped: no cleaning, no trailing slash, HEAD is not GET.
var routes = map[string]*route{
	"":                   {get: home},
	"signin":             {get: signInPage, cors: true},
	"signin/:provider":   {get: signInPage, post: signIn, cors: true},
	"callback/:provider": {get: callback, post: callback, open: true, cors: true},
	"signout":            {get: signOutPage, post: signOut, cors: true},
	"signout/provider":   {get: signOutPost},
	"signout/return":     {get: signOutReturn},
	"session":            {get: getSession, post: updateSession, cors: true},
	"csrf":               {get: getCSRF, cors: true},
	"providers":          {get: getProviders, cors: true},
	"error":              {get: errorPage},
	"error/:code":        {get: errorPage},
	"verify-request":     {get: verifyRequestPage},
	"_log":               {post: logBeacon, open: true},
	// The provider itself posts: no cookies, no CSRF token; its signature counts.
	"backchannel-logout/:provider": {post: backchannelLogout, open: true},
	"client.js":                    {get: clientScript, cors: true}, // a module import across origins is a CORS request
}

// find matches the path and method, setting rq.flow or rq.code.
func (rq *request) find() (*route, outcome) {
	path := rq.r.URL.EscapedPath()
	if path == rq.basePath {
		path = ""
	} else {
		rest, ok := strings.CutPrefix(path, rq.basePath+"/")
		if !ok { // not of the interface, whatever the mode
			return nil, notFound
		}
		if rest == "" {
			return nil, rq.unknown()
		}
		path = rest
	}
	name, segment, two := strings.Cut(path, "/")
	rt := routes[path]
	switch {
	case two && (name == "signin" || name == "callback" || name == "backchannel-logout"):
		if rq.flow = rq.flows[segment]; rq.flow == nil {
			return nil, rq.unknown()
		}
		rt = routes[name+"/:provider"]
	case two && name == "error" && segment != "" && len(segment) <= 40:
		rq.code = segment
		rt = routes["error/:code"]
	case two && rt != nil: // signout/provider and signout/return
	case two:
		return nil, rq.unknown()
	case rt == nil && path == rq.pages.StylePath:
		rt = &styleRoute
	case rt == nil:
		return nil, rq.unknown()
	}
	if rq.r.Method == http.MethodPost && rt.post != nil {
		rq.judgedBy(name)
	}
	rq.corsRoute = rt.cors && (name != "callback" || rq.flow.info().kind == "credentials")
	switch {
	case rq.r.Method == http.MethodGet && rt.get != nil, rq.r.Method == http.MethodPost && rt.post != nil:
		return rt, nil
	case rq.r.Method == http.MethodOptions && rq.preflight():
		return nil, noContent{http.StatusNoContent}
	}
	return nil, rq.notAllowed(rt)
}

// judgedBy notes what the route is judged by before its body is read.
func (rq *request) judgedBy(name string) {
	switch name {
	case "signin":
		rq.limiter = rq.limits.signIn
	case "callback":
		rq.foreign = rq.flow.info().formPost
		if of := rq.flow.info().limit; of != nil {
			rq.limiter = of(&rq.limits)
		}
	case "backchannel-logout":
		rq.foreign, rq.limiter = true, rq.limits.backchannel
	case "_log":
		rq.foreign = true
	}
}

var styleRoute = route{get: getStyle}

// unknown answers a path that is not in the interface.
func (rq *request) unknown() outcome {
	if out := rq.dialect.unsupported(rq.r.Method); out != nil {
		return out
	}
	return notFound
}

var notFound = problem{status: http.StatusNotFound, text: "not found"}

// notAllowed answers a method that the route does not have.
func (rq *request) notAllowed(rt *route) outcome {
	if out := rq.dialect.unsupported(rq.r.Method); out != nil {
		return out
	}
	var allow []string
	if rt.get != nil {
		allow = append(allow, http.MethodGet)
	}
	if rt.post != nil {
		allow = append(allow, http.MethodPost)
	}
	return problem{status: http.StatusMethodNotAllowed, text: "method not allowed", allow: strings.Join(allow, ", ")}
}

// home: GET {base} leads to the sign-in page.
func home(rq *request) outcome { return redirect{to: rq.base + "/signin"} }

// getStyle: GET style.<hash>.css.
func getStyle(rq *request) outcome {
	b, contentType, _ := rq.pages.Asset(rq.pages.StylePath)
	return asset{body: b, contentType: contentType, cache: "public, max-age=31536000, immutable"}
}

// clientScript: GET client.js, the framework-free browser client.
func clientScript(rq *request) outcome {
	return asset{body: clientJS, contentType: "text/javascript; charset=utf-8", cache: "public, max-age=3600", etag: clientETag}
}

// clientJS is the framework-free browser client.
//
//go:embed clients/js/client.js
var clientJS []byte

var clientETag = `"` + seal.Digest(string(clientJS))[:16] + `"`
