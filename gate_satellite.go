package authsvc

import (
	"net/http"
	"slices"
	"strings"

	"authsvc/internal/seal"
	"authsvc/internal/weburl"
)

// satellites is what hosts of the gate have of the interface that are not that of
// URL, so that its clients work there. They read who is signed in and lead to the
// login host; no POST at them reads or changes anything, and so none needs a token.
var satellites = map[string]*route{
	"session":          {get: getSession},
	"csrf":             {get: getWorthlessCSRF},
	"providers":        {get: getProviders},
	"signin":           {get: signInElsewhere, post: signInElsewhere, foreign: always},
	"signin/:provider": {get: signInElsewhere, post: signInElsewhere, foreign: always},
	"signout":          {get: signOutElsewhere, post: signOutElsewhere, foreign: always},
}

// gateOwn are the routes of the gate that hosts other than that of URL have.
var gateOwn = []string{"gate/start", "gate/enter", "gate/landed", "gate/leave"}

// elsewhere refuses what a host of the gate that is not that of URL has no part in:
// people sign in at one host, and pages of other programs are not to reach it by
// another name.
func (rq *request) elsewhere() outcome {
	site, origin := rq.gate.table.Find(rq.r.Host)
	if site == nil || origin == rq.origin {
		return nil
	}
	path, below := strings.CutPrefix(rq.r.URL.EscapedPath(), rq.basePath+"/")
	if !below {
		return notServed
	}
	if _, _, asset := rq.pages.Asset(path); asset || slices.Contains(gateOwn, path) {
		return nil
	}
	if rt := rq.satellite(path); rt != nil {
		rq.route = rt
		return nil
	}
	if path == "gate/authorize" && rq.r.Method == http.MethodGet && rq.navigates() {
		return rq.renamed(origin)
	}
	return notServed
}

// renamed answers what was sent to the login host and comes under the name of this
// one: a redirect would send it there again, without end.
func (rq *request) renamed(origin string) outcome {
	rq.audit("gate.misconfigured", "", "what is for the host of the URL comes under another name")
	rq.warnOnceAMinute("renamed", origin,
		"people are sent to sign in at the host of the URL, and what they ask for there comes as if it were for a host of the gate; a proxy has to pass the Host header of the browser on, and the URL has to be what browsers use",
		"url", rq.origin, "host", origin)
	_, host, _ := strings.Cut(rq.origin, "://")
	return rq.notSetUp("login", host, http.StatusForbidden)
}

// satellite is the route of a path for the method of the request, nil without one.
func (rq *request) satellite(path string) *route {
	if name, id, two := strings.Cut(path, "/"); two {
		if rq.flow = rq.shownFlow(id); rq.flow == nil {
			return nil
		}
		path = name + "/:provider"
	}
	rt := satellites[path]
	if rt == nil || rq.r.Method != http.MethodGet && (rq.r.Method != http.MethodPost || rt.post == nil) {
		return nil
	}
	return rt
}

// signInElsewhere leads to the sign-in page, and back to this host.
func signInElsewhere(rq *request) outcome {
	page := "/signin"
	if rq.flow != nil {
		page += "/" + rq.providerID()
	}
	return rq.toLogin(page, rq.signInURL)
}

// signOutElsewhere leads to the sign-out page, which asks.
func signOutElsewhere(rq *request) outcome { return rq.toLogin("/signout", rq.gateStartURL) }

// toLogin leads to a page of the login host and by gate/start back to where the
// client wanted to go, if that is at this host.
func (rq *request) toLogin(page string, back func(origin, to string) string) outcome {
	want := rq.query("callbackUrl")
	if rq.body != nil && rq.body.get("callbackUrl") != "" {
		want = rq.body.get("callbackUrl")
	}
	_, origin := rq.gate.table.Find(rq.r.Host)
	if at, clean, ok := weburl.Parse(want); ok && at == origin {
		want = strings.TrimPrefix(clean, origin)
		if path, _, _ := strings.Cut(want, "?"); path == rq.basePath+"/gate/start" {
			return rq.renamed(origin) // what this function makes, and no client
		}
	}
	return redirect{to: weburl.WithQuery(rq.base+page, "callbackUrl", back(origin, rq.gatePath(origin, want)))}
}

// getWorthlessCSRF answers what clients send along. There is nothing that it would
// be good for.
func getWorthlessCSRF(rq *request) outcome {
	body := append(rq.room[:0], `{"csrfToken":`...)
	return rq.json(append(appendString(body, seal.Token()), '}'))
}
