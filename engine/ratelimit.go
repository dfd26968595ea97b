package engine

import (
	"container/list"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"authsvc"
)

// maxLimiterKeys bounds the memory of one limiter; the key unused longest goes.
const maxLimiterKeys = 100_000

// A limiter counts events per key by the generic cell rate algorithm: N events
// at once, then one each Per/N. It counts in this process.
type limiter struct {
	name     string // in the store, for all replicas
	disabled bool
	interval time.Duration // between events at the sustained rate
	burst    time.Duration // how far ahead of the clock a key may be
	*counts
}

// counts are the state of a limiter. Reconfigure passes them on to the limiter
// of the new service.
type counts struct {
	mu   sync.Mutex
	keys map[string]*list.Element
	used *list.List // of *limited, most recent first
}

type limiterEntry struct {
	key string
	tat time.Time // theoretical arrival time of the next event
}

func newLimiter(name string, r authsvc.Rate, disabled bool) *limiter {
	l := &limiter{name: name, disabled: disabled, counts: &counts{keys: map[string]*list.Element{}, used: list.New()}}
	if !disabled {
		l.interval = r.Per / time.Duration(r.N)
		l.burst = r.Per - l.interval
	}
	return l
}

// allow counts an event of key. If there were too many it is not counted, and
// wait is the time until one would be.
func (l *limiter) allow(key string, now time.Time) (wait time.Duration, ok bool) {
	if l.disabled {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.keys[key]
	if e == nil {
		if l.used.Len() >= maxLimiterKeys {
			oldest := l.used.Back()
			delete(l.keys, oldest.Value.(*limiterEntry).key)
			l.used.Remove(oldest)
		}
		e = l.used.PushFront(&limiterEntry{key: key, tat: now})
		l.keys[key] = e
	} else {
		l.used.MoveToFront(e)
	}
	k := e.Value.(*limiterEntry)
	if k.tat.Before(now) {
		k.tat = now
	}
	if most := now.Add(l.burst + l.interval); k.tat.After(most) { // counted under a lower rate
		k.tat = most
	}
	if wait = k.tat.Sub(now) - l.burst; wait > 0 {
		return wait, false
	}
	k.tat = k.tat.Add(l.interval)
	return 0, true
}

// over reports whether allow would refuse an event of key, without counting it.
func (l *limiter) over(key string, now time.Time) bool {
	if l.disabled {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.keys[key]
	return e != nil && e.Value.(*limiterEntry).tat.Sub(now) > l.burst
}

// A rating makes the limiters of one configuration, each known by its name: in the
// store, and to Reconfigure, which passes the counts on.
type rating struct {
	*builder
	all      map[string]*limiter
	disabled bool
}

// rate is what a field of RateLimit says, or what is usual.
func (r *rating) rate(field string, given, usual authsvc.Rate) authsvc.Rate {
	if given == (authsvc.Rate{}) {
		return usual
	}
	if given.N < 1 || given.Per < time.Second {
		r.fail("RateLimit."+field, "is not a rate", "use a count of at least 1 and a period of at least a second")
		return usual
	}
	return given
}

func (r *rating) limiter(name string, rate authsvc.Rate) *limiter {
	l := newLimiter(name, rate, r.disabled)
	r.all[name] = l
	return l
}

// permit counts an event of key against a limit: first in this process, which
// keeps a flood from the store, then in the store, for all replicas. If the
// store fails, the count of this process decides.
func (rq *request) permit(l *limiter, key string) (wait time.Duration, ok bool) {
	return rq.limits.permit(rq.ctx, l, key, rq.now)
}

func (li *limits) permit(ctx context.Context, l *limiter, key string, now time.Time) (wait time.Duration, ok bool) {
	if wait, ok = l.allow(key, now); !ok || l.disabled {
		return wait, ok
	}
	wait, err := li.permitStored(ctx, l, key, now)
	return wait, err != nil || wait == 0
}

// permitStored counts in the store, for all replicas. Errors are logged; wait is
// then 0 and nothing was counted.
func (li *limits) permitStored(ctx context.Context, l *limiter, key string, now time.Time) (wait time.Duration, err error) {
	wait, err = li.adapter.Permit(ctx, nameOf(l.name, key), now, l.interval, l.burst)
	switch {
	case errors.Is(err, errNoStorage):
		return 0, err
	case err != nil:
		li.log.Warn("the store could not count for a rate limit; the count of this replica holds", "limit", l.name, "err", err)
		return 0, err
	}
	return wait, nil
}

// limited answers a request that a limiter refused.
func (rq *request) limited(wait time.Duration) outcome {
	rq.retryAfter = wait
	rq.keepTypedForm()
	rq.audit("request.limited", authsvc.RateLimited, "too many attempts")
	if rq.route.hasProblems() {
		return refused(problemRateLimited)
	}
	if !rq.wantsJSON() {
		p := rq.errorView(authsvc.RateLimited, rq.requestID())
		p.status = http.StatusTooManyRequests
		return p
	}
	return redirect{to: rq.errorURL(authsvc.RateLimited), status: http.StatusTooManyRequests}
}

// clientKey is the client's address for limits; IPv6 counts by /64.
func (rq *request) clientKey() string {
	ip := rq.clientIP()
	if ip.Is6() {
		if p, err := ip.Prefix(64); err == nil {
			return p.String()
		}
	}
	return ip.String()
}

// networkKey is like clientKey, but IPv6 counts by /48, the largest network that
// one customer usually has.
func (rq *request) networkKey() string { return networkOf(rq.clientIP()) }

func networkOf(ip netip.Addr) string {
	if ip.Is6() {
		if p, err := ip.Prefix(48); err == nil {
			return p.String()
		}
	}
	return ip.String()
}

// shownNetwork is what people are told of where a request came from: enough to
// recognise it, and not one house. "" is not known.
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

// clientIP is the address of the peer or, when that is a trusted proxy, the
// right-most address in X-Forwarded-For that is not one.
func (rq *request) clientIP() netip.Addr {
	ap, err := netip.ParseAddrPort(rq.r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	ip := ap.Addr().Unmap().WithZone("")
	lines := rq.r.Header["X-Forwarded-For"]
	for i := len(lines) - 1; i >= 0; i-- {
		for hop := range lastToFirst(lines[i]) {
			if !rq.trustedProxy(ip) {
				rq.warnProxy(ip)
				return ip
			}
			next, ok := parseHop(hop)
			if !ok {
				return ip
			}
			ip = next.Unmap().WithZone("")
		}
	}
	return ip
}

// client is who sends the request, for rules: a trusted proxy that does not say for whom
// it asks is nobody who is to be let in by its own address.
func (rq *request) client() authsvc.RequestClient {
	ip := rq.clientIP()
	if len(rq.r.Header["X-Forwarded-For"]) == 0 && rq.trustedProxy(ip) {
		ip = netip.Addr{}
	}
	return authsvc.RequestClient{IP: ip, Agent: rq.r.UserAgent()}
}

// parseHop reads an address; some proxies add the port.
func parseHop(hop string) (netip.Addr, bool) {
	if ip, err := netip.ParseAddr(hop); err == nil {
		return ip, true
	}
	ap, err := netip.ParseAddrPort(hop)
	return ap.Addr(), err == nil
}

// warnProxy logs, once, that a proxy which is not configured may make all
// clients share one address.
func (st *site) warnProxy(ip netip.Addr) {
	if ip.IsLoopback() || ip.IsPrivate() {
		st.warned.proxy.Do(func() {
			st.log.Warn("X-Forwarded-For from a proxy that is not in trusted_proxies is ignored; its clients share one rate limit", "proxy", ip.String())
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

// lastToFirst yields the elements of a comma-separated header from the right,
// empty ones included: what is left of one did not come from a trusted proxy.
// An empty header has none.
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
