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

// notSetUp refuses a request because a proxy is misconfigured. People get a page that
// names the cause.
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

// warnOnceAMinute logs a condition that outsiders can trigger. It logs each kind at
// most once a minute for each subject, and for at most 64 subjects.
func (gt *gateRoom) warnOnceAMinute(rq *request, kind, about, message string, args ...any) {
	digest := sha256.Sum256([]byte(about))
	key := fmt.Sprintf("gate %s %d", kind, digest[0]%64)
	if gt.fleet.FirstInMinute(key, rq.now) {
		gt.Log.Warn(message, args...)
	}
}

// renewOnce leaves at most one cookie in the answer. If cookies are renewed but the old
// ones keep coming back, it logs a warning.
func (gt *gateRoom) renewOnce(rq *request) {
	rq.allOrNothing()
	old := rq.sessionCookieValue()
	if len(rq.set) == 1 && rq.set[0].Value != old && gt.overdue.Again(seal.Digest(old), rq.now) {
		gt.Log.Warn("sessions end although they are used, because their new cookies do not reach the browser: make the proxy pass on Set-Cookie of the check's answers, "+
			"with nginx by auth_request_set and add_header; this is not logged again", "host", rq.r.Host)
	}
}

// inCodes returns an answer for proxies that understand only 401 and 403. Location says
// where the person continues, and the proxy's configuration turns it into a redirect.
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

// removed names the client's headers that Envoy must remove, which it does after adding
// ours. These are our headers that have no value, all spellings that CGI confuses with
// ours, and every other header that does not arrive. A personal access token is also
// removed, since it is not meant for the program.
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

// underscored returns the lower-case spellings of a name with _ for some or all of its
// -. CGI does not distinguish them.
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

// checkers compiles Config.Gate.Proxies. A proxy that asks about requests must also be
// trusted to name their clients. Otherwise, rules about networks would apply to the
// proxy's address.
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
