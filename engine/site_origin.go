package engine

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"authsvc"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text"
	"authsvc/internal/text/pages"
)

// sameSite is a second check in addition to the CSRF token, for POSTs that change
// state. If the browser sent Sec-Fetch-Site, it alone decides; else Origin decides.
// Without either header, only the token decides.
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
func refuseCrossSite(rq *request) outcome {
	plain := openedByHTTP(rq)
	if plain {
		rq.audit("request.cross_site", authsvc.CodeAccessDenied, "the page was opened by http, but the URL has https")
		rq.warned.plain.Do(func() {
			rq.Log.Warn("refused a form of a page that was opened by http, although the URL has https, and will refuse further ones silently; "+
				"people must open the URL, and whatever provides https must send requests by http there", "url", rq.origin)
		})
	} else {
		rq.audit("request.cross_site", authsvc.CodeAccessDenied, "origin is neither ours nor trusted")
	}
	if rq.route.hasProblems() {
		return refused(problemCrossSite)
	}
	if rq.wantsJSON() {
		return object{v: map[string]string{"url": rq.errorURL(authsvc.CodeAccessDenied)}, status: http.StatusForbidden}
	}
	if plain {
		return servedElsewhere(rq, "plain", http.StatusForbidden)
	}
	p := rq.errorView(authsvc.CodeAccessDenied, rq.requestID())
	p.status = http.StatusForbidden
	return p
}

// openedByHTTP reports whether the Origin of a POST is the host of the URL, but with
// http where the URL has https. Browsers keep no cookies of such a page.
func openedByHTTP(rq *request) bool {
	origins := rq.r.Header["Origin"]
	return len(origins) == 1 && strings.HasPrefix(rq.origin, "https://") && weburl.HeaderOrigin(origins[0]) == "http://"+rq.host
}

// isPreflight reports whether an OPTIONS call comes from a trusted origin that may read
// the answer of the route.
func isPreflight(rq *request) bool {
	origin := rq.r.Header["Origin"]
	return len(origin) == 1 && rq.origins.trusted[origin[0]] && rq.route.allowsCORS(rq)
}

// InternalHost is [Service.InternalHost].
func (st *site) InternalHost(host string) bool {
	return len(st.origins.internal) > 0 && st.origins.internal[strings.ToLower(host)]
}

// misdirected refuses requests that do not belong to their host. An internal host
// refuses everything that is for browsers: no link, page or redirect ever carries such
// a name (RFC 9110 §7.4).
func misdirected(rq *request) outcome {
	if rq.internal = rq.InternalHost(rq.r.Host); !rq.internal {
		return rq.hooks.elsewhere(rq)
	}
	path, below := strings.CutPrefix(rq.r.URL.EscapedPath(), rq.basePath+"/")
	if rt := rq.routes[path]; below && rt.configured(rq) && rt.internal == rq.r.Method {
		return nil
	}
	rq.warned.internal.Do(func() {
		rq.Log.Warn("refused a request that is not allowed on an internal host, from now on silently; "+
			"browsers must use the host of the URL, and a proxy in front must pass on their Host header, or name it in X-Forwarded-Host with forwarded_host: true",
			"host", text.Printable(rq.r.Host, 100), "method", text.Printable(rq.r.Method, 10), "path", text.Printable(rq.r.URL.EscapedPath(), 80))
	})
	return notServed
}

// notServed answers requests for hosts that are not served.
var notServed = problem{status: http.StatusMisdirectedRequest, text: "this host is not served here"}

// otherHost answers a request for a host that the program does not serve.
func otherHost(rq *request) outcome {
	rq.internal = true // the answer is neither for scripts of the origin nor for other origins
	why := "other"
	switch {
	case atOtherPort(rq):
		why = "plain"
	case !onThisMachine(rq.r):
		return notServed
	}
	if file, ok := pageFile(rq); ok { // of the page below
		return file
	}
	if !isNavigation(rq.r.Header) || rq.r.Method != http.MethodGet || !strings.Contains(rq.r.Header.Get("Accept"), "text/html") {
		return notServed
	}
	return servedElsewhere(rq, why, http.StatusMisdirectedRequest)
}

// pageFile returns the file at the request's path that all pages load.
func pageFile(rq *request) (file asset, ok bool) {
	path, below := strings.CutPrefix(rq.r.URL.EscapedPath(), rq.basePath+"/")
	if !below || rq.r.Method != http.MethodGet {
		return asset{}, false
	}
	body, contentType, ok := rq.pages.Asset(path)
	return asset{body: body, contentType: contentType, cache: "no-store"}, ok
}

// atOtherPort reports whether a request that did not come by TLS names the host of an
// https URL with another port. The usual cause is that someone opened the port at which
// authsvc listens, without the proxy in front of it.
func atOtherPort(rq *request) bool {
	return rq.r.TLS == nil && withoutProxy(rq.r) && strings.HasPrefix(rq.origin, "https://") &&
		strings.EqualFold(weburl.Hostname("http://"+rq.r.Host), weburl.Hostname(rq.origin))
}

// servedElsewhere returns the page that links to the origin of the URL.
func servedElsewhere(rq *request, why string, status int) page {
	return page{name: pages.Unavailable, status: status, anyHost: true,
		view: pages.UnavailableView{Case: why, Host: rq.origin, RetryURL: rq.origin}}
}

// onThisMachine reports whether a program on this machine sent the request, without a
// proxy, to a name that always means this machine.
func onThisMachine(r *http.Request) bool {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	return withoutProxy(r) && err == nil && peer.Addr().Unmap().IsLoopback() && weburl.Loopback(weburl.Hostname("http://"+r.Host))
}

// withoutProxy reports whether a request has no header that proxies add.
func withoutProxy(r *http.Request) bool {
	return !slices.ContainsFunc([]string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"},
		func(name string) bool { return r.Header[name] != nil })
}

// isPrefetch reports whether a browser loads a page that the user has not asked for
// yet.
func isPrefetch(h http.Header) bool {
	return h.Get("Sec-Purpose") != "" || h.Get("Purpose") != "" || h.Get("X-Moz") != ""
}

// isNavigation reports whether a user navigates to a page, as far as Fetch Metadata
// says.
func isNavigation(h http.Header) bool {
	mode, dest := h.Get("Sec-Fetch-Mode"), h.Get("Sec-Fetch-Dest")
	return (mode == "" || mode == "navigate") && (dest == "" || dest == "document") && !isPrefetch(h)
}

// reserved answers a request for a path below the base path at a host of the gate that
// authsvc does not have there. A program behind the gate may have routes there, which
// its clients cannot reach. The log then says, once, what to do, as the answer does. It
// names the route without what follows, which may be a token that the program still
// accepts.
func reserved(rq *request, status int) problem {
	below, _ := strings.CutPrefix(rq.r.URL.EscapedPath(), rq.basePath)
	route, _, _ := strings.Cut(strings.TrimPrefix(below, "/"), "/")
	rq.warned.reserved.Do(func() {
		rq.Log.Warn("refused a request at a host of the gate for a path that belongs to authsvc, from now on silently; "+
			"if the program behind the gate has routes of its own below "+rq.basePath+", give the URL another path, such as "+rq.origin+"/authsvc",
			"host", text.Printable(rq.r.Host, 100), "method", text.Printable(rq.r.Method, 10), "path", text.Printable(rq.basePath+"/"+route, 80))
	})
	return problem{status: status, text: "at this host, paths below " + rq.basePath + " belong to authsvc; if the program behind the gate has routes there, give the url of authsvc another path"}
}

// sharesHost reports whether the request is for a host of the gate.
func (rq *request) sharesHost() bool {
	site, _ := rq.hosts.Find(rq.r.Host)
	return site != nil
}
