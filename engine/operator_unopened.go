package engine

import (
	"net/http"

	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/pages"
)

// ServeUnopened answers a person who opens a page of the service, or of a program behind
// the gate, while the store is not open yet: with 503 and the page that a service shows
// whose store does not answer. It also serves the files of that page. For other requests
// it returns false and writes nothing.
func (o *Operator) ServeUnopened(w http.ResponseWriter, r *http.Request) bool {
	rq := o.service.site.newRequest(r)
	rq.r = o.service.Forwarded(r)
	out := unopened(rq)
	if out == nil {
		return false
	}
	rq.respond(w, out)
	return true
}

// unopened returns the page, or a file of it, or nil.
func unopened(rq *request) outcome {
	_, origin := rq.hosts.Find(rq.r.Host)
	if weburl.NamesHost(rq.origin, rq.r.Host) {
		origin = rq.origin
	}
	if origin == "" {
		return nil
	}
	rq.internal = true // the answer is neither for scripts of the origin nor for other origins
	if file, ok := pageFile(rq); ok {
		return file
	}
	if !navigates(rq) {
		return nil
	}
	rq.retryAfter = retryAfter
	v := unavailableView(rq, "sessions", origin)
	v.RequestID = "" // the log has no line about this request
	return page{name: pages.Unavailable, status: http.StatusServiceUnavailable, anyHost: true, view: v}
}
