package engine

import (
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"authsvc/engine/internal/cookie"
	"authsvc/internal/text"
)

// A sessionCookie is the cookie of a session that must be sent.
type sessionCookie struct {
	value   string
	expires time.Time
}

// A place is the kind of host that a request came to. It decides how the cookie of a
// session is read and set.
type place interface {
	// cookie returns the value that a session is read from. present reports whether any
	// such cookie came. If present is true and value is "", the cookies make no sense
	// together.
	cookie(j *cookie.Jar) (value string, present bool)
	// keep queues the cookie of a session and reports whether it fits.
	keep(rq *request, c sessionCookie) bool
	// drop expires the session cookies that the request carried.
	drop(rq *request)
}

// at returns the place of the request.
func (rq *request) at() place {
	if rq.place == nil {
		rq.place = rq.hooks.place(rq.r.Host)
	}
	return rq.place
}

// setSession queues the session cookie, in chunks if necessary, and expires the
// request's session cookies under names that are no longer used. It reports whether the
// value fits.
func (rq *request) setSession(value string, expires time.Time) bool {
	n := rq.names
	if !cookie.Fits(value) {
		return false
	}
	rq.clearSession()
	if len(value) <= cookie.ChunkSize {
		rq.setCookie(cookie.Cookie{Name: n.Session, Value: value, Domain: n.Domain, Expires: expires})
		return true
	}
	warnChunked(rq)
	for i := 0; len(value) > 0; i++ {
		part := value[:min(cookie.ChunkSize, len(value))]
		value = value[len(part):]
		rq.setCookie(cookie.Cookie{Name: n.Session + "." + strconv.Itoa(i), Value: part, Domain: n.Domain, Expires: expires})
	}
	return true
}

// clearSession expires every session cookie that the request carried.
func (rq *request) clearSession() {
	n := rq.names
	for _, p := range rq.jar.Pairs {
		if _, ok := n.SessionPart(p.Name); ok && cookie.ValidName(p.Name) {
			rq.expireCookie(p.Name, n.Domain)
		}
	}
	clearPlanted(rq)
}

func warnChunked(rq *request) {
	rq.warned.chunks.Do(func() {
		rq.Log.Warn("the session needs more than one cookie; proxies in front need larger header buffers "+
			"(nginx: large_client_header_buffers 4 32k, proxy_buffer_size 32k)", "cookie", rq.names.Session)
	})
}

// warnShared logs once that a cookie came that is sealed with a key of another service.
func warnShared(rq *request, name string) {
	rq.warned.shared.Do(func() {
		rq.Log.Warn("another service on this host name uses the same cookie names, so each replaces the cookies of the other, and people must sign in again; "+
			"give one of them another cookies.prefix, or in a compat mode other names in cookies (ignore this if url or secrets of this service changed lately)", "cookie", text.Printable(name, 80))
	})
}

// maxPlanted limits the Set-Cookie lines that clearPlanted adds.
const maxPlanted = 40

// clearPlanted expires session cookies that contradict each other, wherever a sibling
// host could have planted one: on every path above this request and for every parent
// domain (RFC 6265bis §8.6). If only our own cookie were expired, the planted one would
// remain, and nothing would contradict it. Names with __Host- cannot be planted.
func clearPlanted(rq *request) {
	n := rq.names
	rq.sessionCookieValue()
	if rq.sessionValue != "" || !rq.sessionPresent || strings.HasPrefix(n.Session, "__Host-") {
		return
	}
	paths, domains := pathsAbove(rq), rq.domainsAbove()
	lines := 0
	for _, p := range rq.jar.Pairs {
		rest, ok := n.SessionPart(p.Name)
		if _, chunk := cookie.ChunkIndex(rest); !ok || rest != "" && !chunk {
			continue
		}
		for _, path := range paths {
			for _, domain := range domains {
				if path == "" && domain == n.Domain { // our own cookie
					continue
				}
				if lines++; lines > maxPlanted {
					return
				}
				rq.setCookie(cookie.Cookie{Name: p.Name, Domain: domain, Path: path, Expire: true})
			}
		}
	}
}

// pathsAbove returns the cookie paths that match the route of the request; "" is the
// root.
func pathsAbove(rq *request) []string {
	list := []string{""}
	full := rq.basePath
	if path := rq.r.URL.EscapedPath(); strings.HasPrefix(path, full+"/") && !strings.ContainsAny(path, ";,") {
		full = path
	}
	for i := 1; i < len(full) && len(list) < 12; i++ {
		if full[i] == '/' {
			list = append(list, full[:i], full[:i+1])
		}
	}
	return append(list, full)
}

// domainsAbove returns the Domain attributes that reach this host: none, the host
// itself, and its parents down to two labels.
func (st *site) domainsAbove() []string {
	list := []string{""}
	host, _, _ := strings.Cut(st.host, ":")
	if _, err := netip.ParseAddr(host); err == nil {
		return list
	}
	for strings.Contains(host, ".") && len(list) < 4 {
		list = append(list, host)
		_, host, _ = strings.Cut(host, ".")
	}
	return list
}

// setCookie queues c. It replaces a queued cookie that browsers would take for the
// same.
func (rq *request) setCookie(c cookie.Cookie) {
	for i := range rq.set {
		if rq.set[i].Name == c.Name && rq.set[i].Path == c.Path && rq.set[i].Domain == c.Domain {
			rq.set[i] = c
			return
		}
	}
	rq.set = append(rq.set, c)
}

// expires reports whether the answer already clears a cookie.
func (rq *request) expires(name string) bool {
	return slices.ContainsFunc(rq.set, func(c cookie.Cookie) bool { return c.Name == name && c.Expire })
}

// allOrNothing removes the cookies of the answer unless there is only one. It is for
// proxies that ask about a request: many, such as nginx, pass on only one Set-Cookie
// line, and one of several cookies would destroy a session. Other answers renew such
// sessions.
func (rq *request) allOrNothing() {
	if len(rq.set) > 1 {
		rq.set = nil
	}
}

// asksAboutAnother reports whether a proxy asks about another request, whose target is
// in the header.
func asksAboutAnother(h http.Header) bool {
	return len(h["X-Original-Uri"])+len(h["X-Original-Url"])+len(h["X-Forwarded-Uri"]) > 0
}

func (rq *request) expireCookie(name, domain string) {
	rq.setCookie(cookie.Cookie{Name: name, Domain: domain, Expire: true})
}
