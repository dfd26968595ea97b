package engine

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/netip"
	"net/textproto"
	"slices"
	"strings"

	"authsvc/internal/protocol/gate"
	"authsvc/internal/seal"
	"authsvc/internal/text"
	"authsvc/internal/text/pages"
)

// notSetUp answers what nobody may see since a proxy is not configured right: for
// people with a page that names the cause.
func notSetUp(rq *request, why, host string, status int) outcome {
	if navigates(rq) {
		return page{name: pages.Unavailable, status: status, anyHost: true,
			view: pages.UnavailableView{Case: why, Host: text.Printable(host, 100), RequestID: rq.requestID()}}
	}
	if status == http.StatusBadRequest {
		return refused(problemMalformed)
	}
	return refused(problemForbidden)
}

// warnOnceAMinute logs what somebody outside has a hand in: of each kind about each
// of them once a minute, and 64 times at most.
func (gt *gateRoom) warnOnceAMinute(rq *request, kind, about, message string, args ...any) {
	digest := sha256.Sum256([]byte(about))
	key := fmt.Sprintf("gate %s %d", kind, digest[0]%64)
	if gt.fleet.FirstInMinute(key, rq.now) {
		gt.Log.Warn(message, args...)
	}
}

// renewOnce leaves at most one cookie in the answer: proxies such as nginx pass one
// line on, and of a session in several cookies one alone would be its end. That one
// is renewed by pages. Cookies that are renewed and come again as they were are
// logged.
func (gt *gateRoom) renewOnce(rq *request) {
	if len(rq.set) > 1 {
		rq.set = nil
	}
	old := rq.sessionCookieValue()
	if len(rq.set) == 1 && rq.set[0].Value != old && gt.overdue.Again(seal.Digest(old), rq.now) {
		gt.Log.Warn("sessions end although they are used, since their new cookies do not get to the browser: have the proxy pass Set-Cookie of the answers about requests on, "+
			"with nginx by auth_request_set and add_header; this is not logged again", "host", rq.r.Host)
	}
}

// inCodes is an answer for proxies that know 401 and 403 alone: where a person is to
// go on stands in Location, which the proxy's configuration turns into a redirect.
func inCodes(h http.Header, out outcome) outcome {
	switch o := out.(type) {
	case redirect:
		h.Set("Location", o.to)
		p := refused(problemUnauthenticated)
		p.signIn = o.to
		return p
	case problem:
		if o.status == http.StatusBadRequest || o.status == http.StatusTooManyRequests {
			return refused(problemForbidden)
		}
	case page:
		if o.status == http.StatusBadRequest {
			o.status = http.StatusForbidden
			return o
		}
	}
	return out
}

// removed names the headers that Envoy takes out of what the client sent, as it does
// after it has added ours: those of ours that say nothing, the spellings of all that
// CGI takes for the same, and what else does not arrive. A personal access token is not
// for the program.
func (g *gateRoom) removed(h, sent http.Header, v verdict) []string {
	var names []string
	if v.byToken {
		names = append(names, "authorization")
	}
	if h.Get("Cookie") == "" {
		names = append(names, "cookie")
	}
	for _, i := range g.headers {
		name := strings.ToLower(i.name)
		if h.Get(i.name) == "" {
			names = append(names, name)
		}
		names = append(names, i.underscored...)
	}
	f := &g.forwards[v.site.Index()]
	for name := range sent {
		if odd := !gate.PlainName(name); (odd || !g.isIdentity(name)) && !g.arrives(name, f) {
			names = append(names, strings.ToLower(name))
		}
	}
	for _, name := range gate.MisleadingNames() {
		if _, seen := sent[textproto.CanonicalMIMEHeaderKey(name)]; !seen && !g.arrives(name, f) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{strings.Join(names, ",")}
}

// underscored are the spellings of a name, in small letters, with _ for some - or all,
// which CGI takes for the same.
func underscored(name string) []string {
	spellings := []string{""}
	for part := range strings.SplitAfterSeq(strings.ToLower(name), "-") {
		word, more := strings.CutSuffix(part, "-")
		other := make([]string, 0, 2*len(spellings))
		for _, s := range spellings {
			if more {
				other = append(other, s+word+"-", s+word+"_")
			} else {
				other = append(other, s+word)
			}
		}
		spellings = other
	}
	return spellings[1:]
}

// checkers compiles Config.Gate.Proxies. Whoever asks about requests has to be
// believed about their clients, too: else rules about networks would go by the
// address of the proxy.
func (b *builder) checkers(s *gateRoom) {
	s.proxies = b.config.Gate.Proxies
	if len(s.proxies) == 0 {
		s.proxies = s.site.proxies
	}
	for i, p := range b.config.Gate.Proxies {
		within := func(t netip.Prefix) bool { return t.Bits() <= p.Bits() && t.Contains(p.Addr()) }
		if !slices.ContainsFunc(s.site.proxies, within) {
			b.fail(fmt.Sprintf("Gate.Proxies[%d]", i), p.String()+" is not among the trusted proxies", "add it there, so that the addresses of clients are known", "TrustedProxies")
		}
	}
}
