package engine

import (
	"iter"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"authsvc/engine/internal/limit"

	"authsvc"
)

// permit counts an event of key against a limit.
func (rq *request) permit(l *limit.Limiter, key string) (wait time.Duration, ok bool) {
	n, wait := rq.limits.Permit(rq.ctx, rq.now, limit.Event{Limiter: l, Key: key})
	return wait, n == 1
}

// limited answers a request that a rate limit refused.
func (rq *request) limited(wait time.Duration) outcome {
	rq.retryAfter = wait
	rq.keepTypedForm()
	rq.audit("request.limited", authsvc.CodeRateLimited, "too many attempts")
	if rq.route.hasProblems() {
		return refused(problemRateLimited)
	}
	if !rq.wantsJSON() {
		p := rq.errorView(authsvc.CodeRateLimited, rq.requestID())
		p.status = http.StatusTooManyRequests
		return p
	}
	return redirect{to: rq.errorURL(authsvc.CodeRateLimited), status: http.StatusTooManyRequests}
}

// clientKey returns the client's address for rate limits; IPv6 counts by /64.
func (rq *request) clientKey() string { return keyOf(rq.clientIP()) }

func keyOf(ip netip.Addr) string {
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
}

// networkKey is like clientKey, but IPv6 counts by /48, usually the largest network of
// one customer.
func (rq *request) networkKey() string { return networkOf(rq.clientIP()) }

func networkOf(ip netip.Addr) string {
	if ip.Is6() {
		if p, err := ip.Prefix(48); err == nil {
			return p.String()
		}
	}
	return ip.String()
}

// shownNetwork returns the network that people are shown as the origin of a request:
// precise enough to recognise, but not a single house. "" means not known.
func shownNetwork(ip netip.Addr) string {
	bits := 24
	if ip.Is6() {
		bits = 48
	}
	p, err := ip.Prefix(bits)
	if err != nil || !ip.IsValid() || ip.IsLoopback() {
		return ""
	}
	return p.String()
}

// clientIP returns the address of the peer. If the peer is a trusted proxy, by its
// address or by its key, it returns the right-most address in X-Forwarded-For that is not a trusted proxy's.
func (rq *request) clientIP() netip.Addr {
	ip, _ := rq.sender()
	return ip
}

// sender returns what clientIP returns, and whether that is the address of a trusted
// proxy that does not say for whom it asks.
func (rq *request) sender() (ip netip.Addr, unnamed bool) {
	ap, err := netip.ParseAddrPort(rq.r.RemoteAddr)
	if err != nil {
		return netip.Addr{}, false
	}
	ip = ap.Addr().Unmap().WithZone("")
	lines := rq.r.Header["X-Forwarded-For"]
	proven, named := rq.proven(rq.r), false
	for i := len(lines) - 1; i >= 0; i-- {
		for hop := range lastToFirst(lines[i]) {
			if !proven && !rq.trustedProxy(ip) {
				rq.warnProxy(ip)
				return ip, false
			}
			next, ok := parseHop(hop)
			if !ok {
				return ip, true
			}
			ip, proven, named = next.Unmap().WithZone(""), false, true
		}
	}
	return ip, !named && (proven || rq.trustedProxy(ip))
}

// client returns the client of the request, for rules. If a trusted proxy does not say
// for whom it asks, the address is not set: the proxy's own address must not let a
// client in.
func (rq *request) client() authsvc.RequestClient {
	ip, unnamed := rq.sender()
	if unnamed {
		ip = netip.Addr{}
	}
	return authsvc.RequestClient{IP: ip, Agent: rq.r.UserAgent()}
}

// parseHop parses an address. Some proxies add the port.
func parseHop(hop string) (netip.Addr, bool) {
	if ip, err := netip.ParseAddr(hop); err == nil {
		return ip, true
	}
	ap, err := netip.ParseAddrPort(hop)
	return ap.Addr(), err == nil
}

// warnProxy logs, once, that a proxy that is not configured may make all clients share
// one address.
func (st *site) warnProxy(ip netip.Addr) {
	if ip.IsLoopback() || ip.IsPrivate() {
		st.warned.proxy.Do(func() {
			st.Log.Warn("X-Forwarded-For from a proxy that is not in trusted_proxies is ignored; its clients share one rate limit", "proxy", ip.String())
		})
	}
}

func (st *site) trustedProxy(ip netip.Addr) bool {
	for _, p := range st.proxies {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

// lastToFirst yields the elements of a comma-separated header from right to left. Empty
// elements are included: what is left of one did not come from a trusted proxy. An
// empty header has no elements.
func lastToFirst(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for more := s != ""; more; {
			i := strings.LastIndexByte(s, ',')
			if !yield(strings.TrimSpace(s[i+1:])) {
				return
			}
			s, more = s[:max(i, 0)], i >= 0
		}
	}
}

// peerOf returns the address of the connection, whatever the headers claim.
func peerOf(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap().WithZone("")
}
