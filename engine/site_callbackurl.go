package engine

import (
	"net/url"
	"strings"

	"authsvc/engine/internal/cookie"
	"authsvc/internal/protocol/weburl"
)

// callbackURL returns where the user goes in the end: callbackUrl of the body, else of
// the query, else of the cookie, else the origin. The URL is absolute and allowed.
func (rq *request) callbackURL() string {
	if rq.callbackTo == "" {
		rq.callbackTo = resolveCallbackURL(rq, requestedCallbackURL(rq))
	}
	return rq.callbackTo
}

// requestedCallbackURL returns the callbackUrl of the request, unchecked.
func requestedCallbackURL(rq *request) string {
	if rq.body != nil {
		if v := rq.body.get("callbackUrl"); v != "" {
			return v
		}
	}
	if v := rq.query("callbackUrl"); v != "" {
		return v
	}
	return callbackURLCookie(rq)
}

// callbackURLCookie returns the value of the callback-url cookie. It is not trusted.
func callbackURLCookie(rq *request) string {
	v, ok := rq.jar.Get(rq.names.CallbackURL)
	if !ok || len(v) > cookie.Max {
		return ""
	}
	plain, err := url.QueryUnescape(v)
	if err != nil {
		return ""
	}
	return plain
}

// resolveCallbackURL returns an allowed absolute URL for want. If want is refused, it
// returns the origin.
func resolveCallbackURL(rq *request, want string) string {
	if to, ok := judgeCallbackURL(rq, want); ok {
		return to
	}
	return rq.origin
}

// judgeCallbackURL returns where want may lead. If there is a Redirect callback, it
// alone decides.
func judgeCallbackURL(rq *request, want string) (to string, ok bool) {
	if rq.Callbacks.Redirect != nil && want != "" {
		return redirectCallback(rq, want)
	}
	if to, ok := rq.allowedURL(want); ok {
		return to, true
	}
	return allowedByCallback(rq, want)
}

// allowedByCallback asks the AllowRedirect callback about an address that is on no
// list.
func allowedByCallback(rq *request, want string) (to string, ok bool) {
	_, clean, ok := weburl.Parse(want)
	if rq.Callbacks.AllowRedirect == nil || !ok || !strings.HasPrefix(clean, "https://") {
		return "", false
	}
	u, err := url.Parse(clean)
	if err != nil {
		return "", false
	}
	defer rq.fleet.Recovered("allowRedirect callback", func() { to, ok = "", false })
	return clean, rq.Callbacks.AllowRedirect(rq.callbackContext(), u)
}

// redirectCallback calls the Redirect callback. Only this callback may lead away from
// the allowed origins.
func redirectCallback(rq *request, want string) (to string, ok bool) {
	defer rq.fleet.Recovered("redirect callback", func() { to, ok = "", false })
	to = rq.Callbacks.Redirect(rq.ctx, want, rq.origin)
	if strings.HasPrefix(to, "/") {
		return rq.allowedURL(to)
	}
	if _, clean, ok := weburl.Parse(to); ok {
		return clean, true
	}
	return "", false
}

// allowedURL returns the absolute URL of want, which must be a path or a URL of an
// allowed origin.
func (st *site) allowedURL(want string) (string, bool) {
	if strings.HasPrefix(want, "/") {
		if strings.HasPrefix(want, "//") {
			return "", false
		}
		want = st.origin + want
	}
	origin, clean, ok := weburl.Parse(want)
	return clean, ok && (st.origins.redirect[origin] || st.hosts.Has(origin))
}

// keepCallbackURL stores the destination in a cookie for a later step. If it is too
// long for the cookie, because it has hundreds of semicolons, it is not stored and the
// cookie is expired.
func (rq *request) keepCallbackURL() {
	room := cookie.Max - len(rq.names.CallbackURL)
	to := url.QueryEscape(rq.callbackURL())
	if len(to) > room {
		to = sparseEscape.Replace(rq.callbackURL())
	}
	have, ok := rq.jar.Get(rq.names.CallbackURL)
	switch {
	case ok && have == to:
	case len(to) <= room:
		rq.setCookie(cookie.Cookie{Name: rq.names.CallbackURL, Value: to, Domain: rq.names.Domain})
	case ok:
		rq.expireCookie(rq.names.CallbackURL, rq.names.Domain)
	}
}

// keepRequestedCallbackURL is keepCallbackURL for a POST that is refused but may be
// tried again, so that a destination in its body is not lost.
func keepRequestedCallbackURL(rq *request) {
	if rq.body.get("callbackUrl") != "" {
		rq.keepCallbackURL()
	}
}

// sparseEscape escapes an encoded URL for a cookie if the result of url.QueryEscape is
// too long. It escapes only what a cookie cannot hold and what unescaping would change.
var sparseEscape = strings.NewReplacer("%", "%25", "+", "%2B", ",", "%2C", ";", "%3B")

// leadsTo reports whether an address is that route's, or the base path, which leads to
// the sign-in page.
func (st *site) leadsTo(address, route string) bool {
	u, err := url.Parse(address)
	if err != nil || weburl.Origin(u) != st.origin {
		return false
	}
	path := u.EscapedPath()
	return path == st.basePath+route || strings.HasPrefix(path, st.basePath+route+"/") || path == st.basePath && route == "/signin"
}

// isAccountPage reports whether an address is the account page without a query, built in
// or the application's.
func (st *site) isAccountPage(address string) bool {
	return address == st.base+"/account" || st.custom.Account != "" && address == st.absolute(st.custom.Account)
}

// absolute resolves a configured page against the origin.
func (st *site) absolute(page string) string {
	if strings.HasPrefix(page, "/") {
		return st.origin + page
	}
	return page
}
