package authsvc

import (
	"cmp"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Chunking follows NextAuth.js: values over chunkSize bytes become name.0,
// name.1 and so on. 3933 leaves room for the name within the 4096 bytes that
// browsers keep (RFC 6265bis §5.6).
const (
	chunkSize = 3933
	maxChunks = 5
	maxCookie = 4096 // bytes of a name and its value
)

// cookieNames are the names of one configuration, fixed in New.
type cookieNames struct {
	session, csrf, callbackURL    string
	txPrefix, email, lastProvider string
	device                        string // to which accounts the browser signed in
	typed                         string // what was typed into a form that was refused
	pending                       string // a sign-in that waits; see pendingSignIn
	gateMarker                    string // the gate has just sent this browser to where it may pass
	gate, gatePrefix              string // at a host with a cookie of its own: the session, and attempts to get it
	secure                        bool
	domain                        string // of session and callbackURL
}

func newCookieNames(d *dialect, secure bool, o CookieOptions) cookieNames {
	host, shared := "", ""
	if secure {
		host, shared = "__Host-", d.sessionPrefix
		if o.Domain != "" {
			shared = "__Secure-"
		}
	}
	n := cookieNames{secure: secure, domain: o.Domain}
	n.session, n.csrf, n.callbackURL = shared+d.cookies[0], host+d.cookies[1], shared+d.cookies[2]
	n.txPrefix, n.email, n.lastProvider, n.device = host+"authsvc.tx.", host+"authsvc.email", host+"authsvc.last", host+"authsvc.known"
	n.typed, n.gateMarker, n.pending = host+"authsvc.typed", host+"authsvc.gate-seen", host+"authsvc.pending"
	n.gate, n.gatePrefix = host+"authsvc.gate", host+"authsvc.gate-tx."
	if o.Session != "" {
		n.session = o.Session
	}
	if o.CSRF != "" {
		n.csrf = o.CSRF
	}
	if o.CallbackURL != "" {
		n.callbackURL = o.CallbackURL
	}
	return n
}

// ours reports whether a cookie of this name concerns the engine.
func (n *cookieNames) ours(name string) bool {
	if _, ok := n.sessionPart(name); ok {
		return true
	}
	return name == n.csrf || name == n.callbackURL || name == n.email || name == n.lastProvider || name == n.device || name == n.typed || name == n.pending || name == n.gateMarker || name == n.gate ||
		strings.HasPrefix(name, n.txPrefix) || strings.HasPrefix(name, n.gatePrefix)
}

// sessionPart reports whether name is that of the session cookie, or of what
// may be a part of it, and returns what follows the name. Any suffix after a
// dot counts, so that hostile chunk names are seen and expired.
func (n *cookieNames) sessionPart(name string) (suffix string, ok bool) {
	suffix, ok = strings.CutPrefix(name, n.session)
	return suffix, ok && (suffix == "" || suffix[0] == '.')
}

// clash returns two of the names that could be taken for one another, "" if
// there are none.
func (n *cookieNames) clash() (a, b string) {
	others := []string{n.csrf, n.callbackURL, n.email, n.lastProvider, n.device, n.typed, n.pending, n.gateMarker, n.gate}
	for i, name := range others {
		if j := slices.Index(others[:i], name); j >= 0 {
			return others[j], name
		}
	}
	for _, name := range append(others, n.txPrefix, n.gatePrefix) {
		if _, ok := n.sessionPart(name); ok {
			return n.session, name
		}
	}
	for _, name := range []string{n.session, n.csrf, n.callbackURL} {
		for _, prefix := range []string{n.txPrefix, n.gatePrefix} {
			if strings.HasPrefix(name, prefix) {
				return prefix, name
			}
		}
	}
	return "", ""
}

type pair struct{ name, value string }

// maxOurCookies bounds what is kept of a Cookie header full of our names.
const maxOurCookies = 64

// A jar holds the request's cookies that concern the engine, values as sent.
type jar struct {
	names    *cookieNames
	pairs    []pair
	size     int // bytes of all Cookie header lines, others' cookies included
	overflow bool
}

// parse reads the Cookie header lines. Names must match exactly; there is no
// unquoting and no trimming but that of RFC 6265bis §5.4.
func (j *jar) parse(header http.Header, room []pair) {
	j.pairs = room[:0]
	for _, line := range header["Cookie"] {
		j.size += len(line)
		for len(line) > 0 {
			var part string
			part, line, _ = strings.Cut(line, ";")
			name, value, ok := strings.Cut(part, "=")
			if !ok {
				continue
			}
			if name = strings.Trim(name, " \t"); !j.names.ours(name) {
				continue
			}
			if len(j.pairs) == maxOurCookies {
				j.overflow = true
				return
			}
			j.pairs = append(j.pairs, pair{name, strings.Trim(value, " \t")})
		}
	}
}

// get returns the value of the cookie name. Two different values are none: a
// sibling host may have planted one of them (cookie tossing).
func (j *jar) get(name string) (string, bool) {
	value, found := "", false
	for i := range j.pairs {
		if j.pairs[i].name != name {
			continue
		}
		if found && j.pairs[i].value != value {
			return "", false
		}
		value, found = j.pairs[i].value, true
	}
	return value, found
}

// session joins the session cookie. present reports whether any cookie of that
// name or its chunks came; a value of "" with present means that they do not
// make sense together and are to be expired.
func (j *jar) session() (value string, present bool) {
	var chunks [maxChunks]string
	n, bare := 0, false
	for i := range j.pairs {
		suffix, ok := j.names.sessionPart(j.pairs[i].name)
		if !ok {
			continue
		}
		present = true
		v := j.pairs[i].value
		if suffix == "" {
			if v == "" || bare && v != value {
				return "", true
			}
			value, bare = v, true
			continue
		}
		k, ok := chunkIndex(suffix)
		if !ok || v == "" || chunks[k] != "" && chunks[k] != v {
			return "", true
		}
		if chunks[k] == "" {
			n++
		}
		chunks[k] = v
	}
	if j.overflow {
		return "", true
	}
	if n == 0 || bare {
		if n > 0 {
			return "", true
		}
		return value, present
	}
	if slices.Contains(chunks[:n], "") {
		return "", true
	}
	return strings.Join(chunks[:n], ""), true
}

// chunkIndex reads the canonical ".3" of a chunk's name.
func chunkIndex(suffix string) (int, bool) {
	if len(suffix) != 2 || suffix[0] != '.' || suffix[1] < '0' || suffix[1] >= '0'+maxChunks {
		return 0, false
	}
	return int(suffix[1] - '0'), true
}

// A cookie is one Set-Cookie line. The zero expires makes it a browser-session
// cookie; expire deletes it.
type cookie struct {
	name, value string
	domain      string
	path        string // "" is /
	expires     time.Time
	maxAge      time.Duration // beside expires, for what a wrong clock of the browser must not matter to
	expire      bool
}

func (c *cookie) line(secure bool) string {
	var b strings.Builder
	b.Grow(len(c.name) + len(c.value) + 120)
	b.WriteString(c.name)
	b.WriteByte('=')
	b.WriteString(c.value)
	if c.expire {
		b.WriteString("; Max-Age=0")
	}
	if c.maxAge > 0 {
		b.WriteString("; Max-Age=")
		b.WriteString(strconv.Itoa(int(c.maxAge / time.Second)))
	}
	if c.domain != "" {
		b.WriteString("; Domain=")
		b.WriteString(c.domain)
	}
	b.WriteString("; Path=")
	b.WriteString(cmp.Or(c.path, "/"))
	if !c.expires.IsZero() {
		b.WriteString("; Expires=")
		b.WriteString(c.expires.UTC().Format(http.TimeFormat))
	}
	b.WriteString("; HttpOnly")
	if secure {
		b.WriteString("; Secure")
	}
	b.WriteString("; SameSite=Lax")
	return b.String()
}

// setCookie queues c; a later one that browsers take for the same replaces it.
func (rq *request) setCookie(c cookie) {
	for i := range rq.set {
		if rq.set[i].name == c.name && rq.set[i].path == c.path && rq.set[i].domain == c.domain {
			rq.set[i] = c
			return
		}
	}
	rq.set = append(rq.set, c)
}

func (rq *request) expireCookie(name, domain string) {
	rq.setCookie(cookie{name: name, domain: domain, expire: true})
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
		rq.log.Warn("the session needs more than one cookie; proxies in front need larger header buffers "+
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
