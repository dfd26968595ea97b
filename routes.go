package authsvc

import (
	_ "embed" // the browser client
	"net/http"
	"net/url"
	"strings"

	"authsvc/internal/pages"
	"authsvc/internal/seal"
)

// An action answers one route and method.
type action func(*request) outcome

// A route is one line of the HTTP interface. A nil action means that the
// method is not allowed.
type route struct {
	get, post action
	limit     func(*request) *limiter // that counts POSTs per client; nil: none does
	foreign   func(*request) bool     // whether another site, or no browser at all, may make this POST; nil: no
	cors      func(*request) bool     // whether trusted origins may read the answer; nil: no
	internal  string                  // the method that Config.InternalHosts may be asked with; "": none
	when      func(*request) bool     // whether the configuration has the route; nil: always
	problems  bool                    // refusals are Problems (RFC 9457)
	personal  bool                    // the answer is about the person's own account
}

// routes is the HTTP interface below the base path. ":provider" is a
// configured provider's id, ":code" an error word. Paths are matched exactly
// and as escaped: no cleaning, no trailing slash, HEAD is not GET.
var routes = map[string]*route{
	"":                      {get: home},
	"signin":                {get: signInPage, cors: always},
	"signin/:provider":      {get: signInPage, post: signIn, limit: signInLimit, cors: always},
	"callback/:provider":    {get: callback, post: callback, limit: callbackLimit, foreign: fromProvider, cors: fromScripts},
	"signout":               {get: signOutPage, post: signOut, cors: always},
	"account":               {get: getAccount, cors: always, when: hasAccount, personal: true},
	"account/profile":       {post: postProfile, cors: always, when: hasAccount, personal: true},
	"account/unlink":        {post: postUnlink, cors: always, when: hasAccount, personal: true},
	"account/signout":       {post: postAccountSignOut, cors: always, when: hasAccount, personal: true},
	"account/undo":          {get: getUndo, post: postUndo, limit: undoLimit, cors: always, when: canConfirm, personal: true},
	"account/export":        {get: getExport, cors: always, when: hasAccount, personal: true},
	"account/email":         {get: getEmailChange, post: postEmailChange, cors: always, when: changesEmail, personal: true},
	"account/email/confirm": {get: getEmailConfirm, post: postEmailConfirm, cors: always, when: changesEmail, personal: true},
	"account/email/finish":  {post: postEmailFinish, cors: always, when: changesEmail, personal: true},
	"account/email/cancel":  {post: postEmailCancel, cors: always, when: changesEmail, personal: true},
	"account/delete":        {get: deletePage, post: postDelete, cors: always, when: deletesAccounts, personal: true},
	"account/keep":          {get: keepPage, post: postKeep, cors: always, when: canConfirm, personal: true},
	"confirm":               {get: confirmPage, post: confirm, limit: signInLimit, cors: always, when: canConfirm, personal: true},
	"signout/provider":      {get: signOutPost},
	"signout/return":        {get: signOutReturn},
	"session":               {get: getSession, post: updateSession, cors: always, internal: http.MethodGet},
	"csrf":                  {get: getCSRF, cors: always},
	"providers":             {get: getProviders, cors: always},
	"error":                 {get: errorPage},
	"error/:code":           {get: errorPage},
	"verify-request":        {get: verifyRequestPage},
	"_log":                  {post: logBeacon, foreign: always}, // changes nothing
	// The provider itself posts: no cookies, no CSRF token; its signature counts.
	"backchannel-logout/:provider": {post: backchannelLogout, limit: backchannelLimit, foreign: always},
	"client.js":                    {get: clientScript, cors: always}, // a module import across origins is a CORS request
	"account.js":                   {get: accountScript, cors: always, when: hasAccount},
	"token":                        {post: postToken, cors: always, internal: http.MethodPost, when: issuesTokens, problems: true},
	"jwks":                         {get: getJWKS, internal: http.MethodGet, when: issuesTokens, problems: true},
	"gate/start":                   {get: gateStart, when: gates},
	"gate/authorize":               {get: gateAuthorize, when: gates, problems: true},
	"gate/enter":                   {get: gateEnter, when: gates, problems: true},
	"gate/landed":                  {get: gateLanded, when: gates, problems: true},
	"gate/leave":                   {get: gateLeave, when: gates, problems: true},
	issuerMetadata:                 {get: getIssuer, when: issuesTokens, problems: true},
}

// gates reports whether programs are behind the gate.
func gates(rq *request) bool { return rq.gate.table != nil }

func always(*request) bool { return true }

func hasAccount(rq *request) bool { return rq.policy.account }

func deletesAccounts(rq *request) bool { return rq.policy.deletes }

func changesEmail(rq *request) bool { return rq.policy.addresses != nil }

func canConfirm(rq *request) bool { return rq.policy.confirms }

// fromProvider: a form_post response comes from the provider's site; posted
// again, from our own.
func fromProvider(rq *request) bool { return rq.flow.info().formPost && !rq.reposted() }

func fromScripts(rq *request) bool { return rq.flow.info().forScripts }

func signInLimit(rq *request) *limiter { return rq.limits.signIn }

func callbackLimit(rq *request) *limiter {
	if of := rq.flow.info().limit; of != nil {
		return of(&rq.limits)
	}
	return nil
}

func backchannelLimit(rq *request) *limiter { return rq.limits.backchannel }

// find sets rq.route, by the path and method, and with it rq.flow or rq.code.
func (rq *request) find() outcome {
	if rq.route != nil { // of a satellite
		return nil
	}
	path := rq.r.URL.EscapedPath()
	if path == rq.basePath {
		path = ""
	} else {
		rest, ok := strings.CutPrefix(path, rq.basePath+"/")
		if !ok { // not of the interface, whatever the mode
			return rq.outside()
		}
		if rest == "" {
			rq.warnSlash("/")
			return rq.unknown()
		}
		path = rest
	}
	rt := rq.match(path)
	if rt == nil {
		rq.warnSlash(path)
		return rq.unknown()
	}
	rq.route = rt
	switch {
	case rq.r.Method == http.MethodGet && rt.get != nil, rq.r.Method == http.MethodPost && rt.post != nil:
		return nil
	case rq.r.Method == http.MethodOptions && rq.preflight():
		return noContent{http.StatusNoContent}
	}
	return rq.notAllowed(rt)
}

// match looks a path up, nil if it is not in the interface.
func (rq *request) match(path string) *route {
	name, segment, two := strings.Cut(path, "/")
	if two {
		if rt := routes[name+"/:provider"]; rt != nil {
			if rq.flow = rq.shownFlow(segment); rq.flow == nil {
				return nil
			}
			return rt
		}
		if rt := routes[name+"/:code"]; rt != nil {
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
	if rt := routes[path]; rt.configured(rq) {
		return rt
	}
	return nil
}

// shownFlow is the provider of an id if it is a way to sign in, else nil.
func (s *Service) shownFlow(id string) flow {
	if f := s.flows[id]; f != nil && !f.info().hidden {
		return f
	}
	return nil
}

// configured reports whether there is the route, in this configuration.
func (rt *route) configured(rq *request) bool {
	return rt != nil && (rt.when == nil || rt.when(rq))
}

// postLimit counts this POST per client; nil: none does.
func (rq *request) postLimit() *limiter {
	if rq.route == nil || rq.route.limit == nil {
		return nil
	}
	return rq.route.limit(rq)
}

// foreign reports whether another site may make this POST.
func (rq *request) foreign() bool {
	return rq.route != nil && rq.route.foreign != nil && rq.route.foreign(rq)
}

// corsAllowed reports whether trusted origins may read the answer.
func (rq *request) corsAllowed() bool {
	return rq.route != nil && rq.route.cors != nil && rq.route.cors(rq)
}

// reposted reports whether a form_post response came from our own page.
func (rq *request) reposted() bool { return rq.body != nil && rq.body.get("repost") == "1" }

var assetRoute = route{get: getAsset}

// unknown answers a path that is not in the interface.
func (rq *request) unknown() outcome {
	if out := rq.dialect.unsupported(rq.r.Method); out != nil {
		return out
	}
	if rq.r.Method == http.MethodGet && wantsPage(rq.r.Header) {
		return page{name: pages.NotFound, status: http.StatusNotFound, view: pages.NotFoundView{SignInURL: rq.base + "/signin"}}
	}
	return notFound
}

// wantsPage reports whether a person asks, and not a script: only browsers name
// the type of a page, and only when they go to one.
func wantsPage(h http.Header) bool {
	return strings.Contains(strings.Join(h["Accept"], ","), "text/html") && isNavigation(h)
}

var notFound = problem{status: http.StatusNotFound, text: "not found"}

// outside answers a path that is not below the base path. If it was when it came,
// something in the program has changed it: then the log says what to do, once,
// and the answer where to look.
func (rq *request) outside() outcome {
	came, err := url.ParseRequestURI(rq.r.RequestURI)
	if err != nil || came.EscapedPath() != rq.basePath && !strings.HasPrefix(came.EscapedPath(), rq.basePath+"/") {
		return notFound
	}
	rq.warned.stripped.Do(func() {
		rq.log.Error("no route can be found: the path was changed on its way to the service; mount it with its whole path, "+
			"as in mux.Handle(\""+rq.basePath+"/\", auth), without http.StripPrefix or a rewrite",
			"came", printable(came.EscapedPath(), 80), "path", printable(rq.r.URL.EscapedPath(), 80))
	})
	return problem{status: http.StatusNotFound, text: "not found: the path was changed on its way to the service, see its log"}
}

// warnSlash logs, once, that a route was asked for with a slash at its end.
func (rq *request) warnSlash(path string) {
	bare, ok := strings.CutSuffix(path, "/")
	found := ok && rq.match(bare) != nil
	rq.flow, rq.code = nil, ""
	if !found {
		return
	}
	rq.warned.slash.Do(func() {
		rq.log.Warn("a route was asked for with a slash at the end, and has none: call it without, and if a proxy or a framework adds it "+
			"(as trailingSlash does), turn that off for "+rq.basePath, "path", printable(rq.r.URL.EscapedPath(), 80))
	})
}

// notAllowed answers a method that the route does not have.
func (rq *request) notAllowed(rt *route) outcome {
	if out := rq.dialect.unsupported(rq.r.Method); out != nil && !rt.problems {
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

// getAsset: GET style.<hash>.css and icon.<hash>.svg.
func getAsset(rq *request) outcome {
	path := strings.TrimPrefix(rq.r.URL.EscapedPath(), rq.basePath+"/")
	b, contentType, _ := rq.pages.Asset(path)
	a := asset{body: b, contentType: contentType, cache: "public, max-age=31536000, immutable"}
	if path == rq.pages.StylePath {
		a.zipped = rq.pages.ZippedStyle()
	}
	return a
}

// clientScript: GET client.js, the framework-free browser client.
func clientScript(rq *request) outcome {
	return asset{body: clientJS, contentType: "text/javascript; charset=utf-8", cache: "public, max-age=3600", etag: clientETag}
}

// accountScript: GET account.js, its part for pages about the account.
func accountScript(rq *request) outcome {
	return asset{body: accountJS, contentType: "text/javascript; charset=utf-8", cache: "public, max-age=3600", etag: accountETag}
}

// clientJS is the framework-free browser client, accountJS what it has for pages
// about the account.
var (
	//go:embed clients/js/client.js
	clientJS []byte
	//go:embed clients/js/account.js
	accountJS []byte

	clientETag  = `"` + seal.Digest(string(clientJS))[:16] + `"`
	accountETag = `"` + seal.Digest(string(accountJS))[:16] + `"`
)
