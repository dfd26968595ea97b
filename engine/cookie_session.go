package engine

import (
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// A sessionCookie is the cookie of a session, to be sent.
type sessionCookie struct {
	value   string
	expires time.Time
}

// A place is where a request came to, as far as the cookies of sessions go.
type place interface {
	// cookie returns the value that a session is read from. present reports whether
	// any such cookie came; "" with present are cookies that make no sense together.
	cookie(j *jar) (value string, present bool)
	// keep queues the cookie of a session and reports whether it fits.
	keep(rq *request, c sessionCookie) bool
	// drop expires what the request carried.
	drop(rq *request)
}

// at is the place of the request.
func (rq *request) at() place {
	if rq.place == nil {
		rq.place = rq.hooks.place(rq.r.Host)
	}
	return rq.place
}

// setSession queues the session cookie, in chunks if it must be, and expires
// what the request carried under names that are no longer used. It reports
// whether the value fits.
func (rq *request) setSession(value string, expires time.Time) bool {
	n := rq.names
	if !fitsCookies(value) {
		return false
	}
	rq.clearSession()
	if len(value) <= chunkSize {
		rq.setCookie(cookie{name: n.session, value: value, domain: n.domain, expires: expires})
		return true
	}
	rq.warnChunked()
	for i := 0; len(value) > 0; i++ {
		part := value[:min(chunkSize, len(value))]
		value = value[len(part):]
		rq.setCookie(cookie{name: n.session + "." + strconv.Itoa(i), value: part, domain: n.domain, expires: expires})
	}
	return true
}

// fitsCookies reports whether a session's value fits into its cookies.
func fitsCookies(value string) bool { return len(value) <= chunkSize*maxChunks }

// clearSession expires every session cookie that the request carried.
func (rq *request) clearSession() {
	n := rq.names
	for _, p := range rq.jar.pairs {
		if _, ok := n.sessionPart(p.name); ok && validCookieName(p.name) {
			rq.expireCookie(p.name, n.domain)
		}
	}
	rq.clearPlanted()
}

// validCookieName keeps hostile names out of Set-Cookie lines.
func validCookieName(s string) bool {
	if len(s) == 0 || len(s) > 128 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c <= ' ' || c >= 0x7f || strings.IndexByte(`()<>@,;:\"/[]?={}`, c) >= 0 {
			return false
		}
	}
	return true
}

func (rq *request) warnChunked() {
	rq.warned.chunks.Do(func() {
		rq.Log.Warn("the session needs more than one cookie; proxies in front need larger header buffers "+
			"(nginx: large_client_header_buffers 4 32k, proxy_buffer_size 32k)", "cookie", rq.names.session)
	})
}

// maxPlanted bounds the Set-Cookie lines that clearPlanted adds.
const maxPlanted = 40

// clearPlanted expires session cookies that contradict each other wherever a
// sibling host can have planted one: on every path above this request and for
// every parent domain (RFC 6265bis §8.6). Expiring our own alone would leave
// the planted one, which then nothing contradicts any more. Names with __Host-
// cannot be planted.
func (rq *request) clearPlanted() {
	n := rq.names
	rq.sessionCookieValue()
	if rq.sessionValue != "" || !rq.sessionPresent || strings.HasPrefix(n.session, "__Host-") {
		return
	}
	paths, domains := rq.pathsAbove(), rq.domainsAbove()
	lines := 0
	for _, p := range rq.jar.pairs {
		rest, ok := n.sessionPart(p.name)
		if _, chunk := chunkIndex(rest); !ok || rest != "" && !chunk {
			continue
		}
		for _, path := range paths {
			for _, domain := range domains {
				if path == "" && domain == n.domain { // it holds our own
					continue
				}
				if lines++; lines > maxPlanted {
					return
				}
				rq.setCookie(cookie{name: p.name, domain: domain, path: path, expire: true})
			}
		}
	}
}

// pathsAbove lists the cookie paths that match the route that was called, ""
// for the root.
func (rq *request) pathsAbove() []string {
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

// domainsAbove lists the Domain attributes that reach this host: none, the
// host itself, and its parents up to two labels.
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
