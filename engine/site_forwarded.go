package engine

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"authsvc/internal/protocol/weburl"
)

// proxyKeyHeader carries one of Config.ProxyKeys.
const proxyKeyHeader = "Authsvc-Proxy-Key"

// checkForwarded checks what proxies may say besides X-Forwarded-For, and the keys by
// which they prove themselves.
func checkForwarded(b *builder, s *Service) {
	c := b.config
	for i, key := range c.ProxyKeys {
		field, problem := fmt.Sprintf("ProxyKeys[%d]", i), ""
		switch {
		case len(key) < minSecret:
			problem = "has fewer than 32 bytes"
		case distinct(key) < 10:
			problem = "repeats few characters"
		case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }):
			problem = "has characters that a header cannot carry"
		case slices.Contains(c.Secrets, key):
			b.fail(field, "is also a secret of the service, which no front end may know", "use another value", "Secrets")
		}
		if problem != "" {
			b.fail(field, problem, "use at least 32 random characters, in base64 for example")
		}
		s.site.proxyKeys = append(s.site.proxyKeys, sha256.Sum256([]byte(key)))
	}
	if c.ForwardedHost && len(c.TrustedProxies)+len(c.ProxyKeys) == 0 {
		b.fail("ForwardedHost", "is set, but no proxy is trusted", "list the networks of the proxies in TrustedProxies, or a key in ProxyKeys", "TrustedProxies", "ProxyKeys").Code = "forwarded_host_untrusted"
	}
	s.site.forwardsHost = c.ForwardedHost
}

// forwarded returns r or, if the X-Forwarded-Host of a trusted proxy stands for Host, a
// copy of r for the host of the URL. A host of the gate is never replaced: a program
// behind the gate must not pass its requests off as those of another host.
func (st *site) forwarded(r *http.Request) *http.Request {
	if !st.forwardsHost || weburl.NamesHost(st.origin, r.Host) {
		return r
	}
	lines := r.Header["X-Forwarded-Host"]
	if len(lines) != 1 || !weburl.NamesHost(st.origin, lines[0]) || !st.trustedProxy(peerOf(r)) && !st.proven(r) {
		return r
	}
	if gated, _ := st.hosts.Find(r.Host); gated != nil {
		return r
	}
	meant := *r
	meant.Host = st.host
	return &meant
}

// proven reports whether a proxy sent one of Config.ProxyKeys with a request.
func (st *site) proven(r *http.Request) bool {
	lines := r.Header[proxyKeyHeader]
	if len(lines) == 0 || len(st.proxyKeys) == 0 {
		return false
	}
	given, equal := sha256.Sum256([]byte(lines[0])), 0
	for i := range st.proxyKeys {
		equal |= subtle.ConstantTimeCompare(given[:], st.proxyKeys[i][:])
	}
	if len(lines) == 1 && equal == 1 {
		return true
	}
	st.warned.proxyKey.Do(func() {
		st.Log.Warn("a request has a proxy key that is not in proxy_keys; if your front end sent it, give both the same key", "peer", peerOf(r).String())
	})
	return false
}
