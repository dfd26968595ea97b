package authsvc

import (
	"net/netip"
	"strings"
)

// maxPlanted bounds the Set-Cookie lines that clearPlanted adds.
const maxPlanted = 40

// clearPlanted expires session cookies that contradict each other wherever a
// sibling host can have planted one: on every path above this request and for
// every parent domain (RFC 6265bis §8.6). Expiring our own alone would leave
// the planted one, which then nothing contradicts any more. Names with __Host-
// cannot be planted.
func (rq *request) clearPlanted() {
	n := rq.names
	rq.sessionCookie()
	if rq.raw != "" || !rq.rawPresent || strings.HasPrefix(n.session, "__Host-") {
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
func (rq *request) domainsAbove() []string {
	list := []string{""}
	host, _, _ := strings.Cut(rq.host, ":")
	if _, err := netip.ParseAddr(host); err == nil {
		return list
	}
	for strings.Contains(host, ".") && len(list) < 4 {
		list = append(list, host)
		_, host, _ = strings.Cut(host, ".")
	}
	return list
}
