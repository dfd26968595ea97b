package engine

import (
	"net/http"
	"strings"

	"authsvc/internal/protocol/gate"
	"authsvc/internal/protocol/upstream"
)

// Guard implements [Service.Guard].
func (gt *gateRoom) Guard(next http.Handler) http.Handler {
	if next == nil {
		next = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { gt.site.newRequest(r).respond(w, notServed) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = gt.site.forwarded(r)
		rq := gt.site.newRequest(r)
		rq.route = &gateRoute
		v := gt.judge(rq, r.Host, r.Method, targetOf(r), r.Header, true)
		gt.decided(rq, &v)
		h := w.Header()
		varyCookie(h)
		if v.Verdict != gate.Allowed || v.site == nil {
			rq.respond(w, gt.refuseVisitor(rq, v))
			return
		}
		st := gt.watch(r, v)
		defer st.done()
		h["Cache-Control"] = hNoStore // the program may override it
		for i := range rq.set {
			h.Add("Set-Cookie", rq.set[i].Line(gt.site.names.Secure))
		}
		u := gt.upstreams[v.site.Index()]
		if u != nil && !upstream.Keeps(r) {
			rq.respond(w, refused(problemMalformed))
			return
		}
		inner := r.WithContext(st)
		inner.Header = gt.identify(gt, r, v)
		if u == nil {
			next.ServeHTTP(w, inner)
			return
		}
		u.Pass(w, inner, rq.gateSender(v.origin), st.cancel)
	})
}

// gateSender says where a request to a program behind the gate comes from.
func (rq *request) gateSender(origin string) upstream.Sender {
	ip := rq.clientIP()
	from := upstream.Sender{Network: keyOf(ip), Origin: origin}
	if ip.IsValid() {
		from.Address = ip.String()
	}
	return from
}

// EndStreams implements [Service.EndStreams].
func (gt *gateRoom) EndStreams() { gt.streams.end() }

// GatedHost implements [Service.GatedHost].
func (gt *gateRoom) GatedHost(host string) int {
	if site, _ := gt.site.hosts.Find(host); site != nil {
		return site.Index()
	}
	return -1
}

// IdentityHeaders implements [Service.IdentityHeaders].
func (gt *gateRoom) IdentityHeaders() []string {
	var names []string
	for _, h := range gt.headers {
		names = append(names, h.name)
	}
	return names
}

// targetOf returns the target of a request as it was received.
func targetOf(r *http.Request) string {
	if strings.HasPrefix(r.RequestURI, "/") || r.RequestURI == "*" {
		return r.RequestURI
	}
	return r.URL.RequestURI() // for an absolute target, or a request that no server has parsed
}
