package authsvc

import (
	"net/http"

	"authsvc/internal/weburl"
)

// sameSite is a second check beside the CSRF token, for POSTs that change
// state. Sec-Fetch-Site alone decides if the browser sent it; else Origin does;
// without either the token decides.
//
// https://www.w3.org/TR/fetch-metadata/
func (rq *request) sameSite() bool {
	h := rq.r.Header
	origins := h["Origin"]
	if site := h["Sec-Fetch-Site"]; len(site) > 0 {
		if len(site) > 1 {
			return false
		}
		switch site[0] {
		case "same-origin", "none":
			return true
		case "same-site", "cross-site":
			return len(origins) == 1 && rq.origins.trusted[origins[0]]
		}
		return false
	}
	if len(origins) == 0 {
		return true
	}
	return len(origins) == 1 && (weburl.HeaderOrigin(origins[0]) == rq.origin || rq.origins.trusted[origins[0]])
}

// refuseCrossSite answers a POST that sameSite refused.
func (rq *request) refuseCrossSite() outcome {
	rq.audit("request.cross_site", AccessDenied, "origin is neither ours nor trusted")
	if rq.wantsProblem() {
		return refused(problemCrossSite)
	}
	if rq.wantsJSON() {
		return object{v: map[string]string{"url": rq.errorURL(AccessDenied)}, status: http.StatusForbidden}
	}
	p := rq.errorView(AccessDenied, rq.requestID())
	p.status = http.StatusForbidden
	return p
}

// cors adds the CORS headers for a trusted origin and reports whether it did.
// No other origin ever gets one.
func (rq *request) cors(h http.Header) bool {
	if len(rq.origins.trusted) == 0 {
		return false
	}
	h.Add("Vary", "Origin")
	origin := rq.r.Header["Origin"]
	if len(origin) != 1 || !rq.origins.trusted[origin[0]] || !rq.corsAllowed() {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin[0])
	h.Set("Access-Control-Allow-Credentials", "true")
	if rq.r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, POST")
		h.Set("Access-Control-Allow-Headers", "content-type, x-auth-return-redirect")
		h.Set("Access-Control-Max-Age", "600")
	}
	return true
}

// preflight reports whether an OPTIONS call comes from a trusted origin.
func (rq *request) preflight() bool {
	origin := rq.r.Header["Origin"]
	return len(origin) == 1 && rq.origins.trusted[origin[0]] && rq.corsAllowed()
}

// isPrefetch recognises loads that no person asked for yet.
func isPrefetch(h http.Header) bool {
	return h.Get("Sec-Purpose") != "" || h.Get("Purpose") != "" || h.Get("X-Moz") != ""
}

// isNavigation recognises a person's click by Fetch Metadata, if there is any.
func isNavigation(h http.Header) bool {
	mode, dest := h.Get("Sec-Fetch-Mode"), h.Get("Sec-Fetch-Dest")
	return (mode == "" || mode == "navigate") && (dest == "" || dest == "document") && !isPrefetch(h)
}
