package engine

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"authsvc"
)

// Chunking follows NextAuth.js: values over chunkSize bytes become name.0,
// name.1 and so on. 3933 leaves room for the name within the 4096 bytes that
// browsers keep (RFC 6265bis §5.6).
const (
	chunkSize = 3933
	maxChunks = 5
	maxCookie = 4096 // bytes of a name and its value
)

// cookieNames are the names of one configuration, fixed in New: those that NextAuth.js
// has, and those that storeys and rooms add.
type cookieNames struct {
	session, csrf, callbackURL string
	secure                     bool
	domain                     string // of session and callbackURL

	host     string // what the others begin with
	own      []string
	prefixes []string // of those of which there may be several
}

func newCookieNames(d *dialect, secure bool, o authsvc.CookieOptions) cookieNames {
	host, shared := "", ""
	if secure {
		host, shared = "__Host-", d.sessionPrefix
		if o.Domain != "" {
			shared = "__Secure-"
		}
	}
	return cookieNames{secure: secure, domain: o.Domain, host: host, session: cmp.Or(o.Session, shared+d.cookies[0]),
		csrf: cmp.Or(o.CSRF, host+d.cookies[1]), callbackURL: cmp.Or(o.CallbackURL, shared+d.cookies[2])}
}

// add returns the whole name of a cookie of ours.
func (n *cookieNames) add(name string) string {
	name = n.host + "authsvc." + name
	n.own = append(n.own, name)
	return name
}

// addPrefix returns what the names of several cookies of ours begin with.
func (n *cookieNames) addPrefix(prefix string) string {
	prefix = n.host + "authsvc." + prefix + "."
	n.prefixes = append(n.prefixes, prefix)
	return prefix
}

// ours reports whether a cookie of this name concerns the engine.
func (n *cookieNames) ours(name string) bool {
	if _, ok := n.sessionPart(name); ok || name == n.csrf || name == n.callbackURL {
		return true
	}
	for _, own := range n.own {
		if name == own {
			return true
		}
	}
	for _, prefix := range n.prefixes {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
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
	others := append([]string{n.csrf, n.callbackURL}, n.own...)
	for i, name := range others {
		if j := slices.Index(others[:i], name); j >= 0 {
			return others[j], name
		}
	}
	for _, name := range append(others, n.prefixes...) {
		if _, ok := n.sessionPart(name); ok {
			return n.session, name
		}
	}
	for _, name := range []string{n.session, n.csrf, n.callbackURL} {
		for _, prefix := range n.prefixes {
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

// fitsOne reports whether a value fits into the one cookie that it may have.
func fitsOne(name, value string) bool { return len(name)+len(value) <= maxCookie }
