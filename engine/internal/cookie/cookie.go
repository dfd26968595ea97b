// Package cookie names, reads and writes cookies. A name has one value; a value that
// browsers would drop for its length is split into chunks.
package cookie

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"authsvc"
)

// Chunking follows NextAuth.js: a value of more than ChunkSize bytes is split into
// name.0, name.1 and so on. 3933 leaves room for the name within the 4096 bytes that
// browsers keep (RFC 6265bis §5.6).
const (
	ChunkSize = 3933
	MaxChunks = 5
	Max       = 4096 // bytes of a name and its value
)

// Names holds the cookie names of one configuration, fixed in New: the names that
// NextAuth.js also has, and those added by storeys and rooms.
type Names struct {
	Session, CSRF, CallbackURL string
	Secure                     bool
	Domain                     string // of the cookies Session and CallbackURL

	own      string // what all other names begin with
	others   []string
	prefixes []string // of names that several cookies begin with
}

// UsualPrefix is the default of [authsvc.CookieOptions].Prefix.
const UsualPrefix = "authsvc"

// NewNames names the cookies. usual holds the default names of the session, the CSRF
// token and the callback URL. They follow stem
// or, if it is empty, the prefix of o and a dot. Over https, the first and the last get prefix, or __Secure- if o has a domain.
func NewNames(stem string, usual [3]string, prefix string, secure bool, o authsvc.CookieOptions) Names {
	host, shared := "", ""
	own := cmp.Or(o.Prefix, UsualPrefix) + "."
	if stem == "" {
		stem = own
	}
	if secure {
		host, shared = "__Host-", prefix
		if o.Domain != "" {
			shared = "__Secure-"
		}
	}
	return Names{Secure: secure, Domain: o.Domain, own: host + own, Session: cmp.Or(o.Session, shared+stem+usual[0]),
		CSRF: cmp.Or(o.CSRF, host+stem+usual[1]), CallbackURL: cmp.Or(o.CallbackURL, shared+stem+usual[2])}
}

// Add registers a cookie of the engine and returns its full name.
func (n *Names) Add(name string) string {
	name = n.own + name
	n.others = append(n.others, name)
	return name
}

// AddPrefix registers a group of cookies of the engine and returns the prefix of their
// names.
func (n *Names) AddPrefix(prefix string) string {
	prefix = n.own + prefix + "."
	n.prefixes = append(n.prefixes, prefix)
	return prefix
}

// Ours reports whether the engine uses a cookie of this name.
func (n *Names) Ours(name string) bool {
	if _, ok := n.SessionPart(name); ok || name == n.CSRF || name == n.CallbackURL {
		return true
	}
	for _, own := range n.others {
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

// SessionPart reports whether name is the session cookie's name, or may be the name of
// one of its chunks, and returns what follows the cookie's name. Any suffix after a dot
// counts, so that hostile chunk names are seen and expired.
func (n *Names) SessionPart(name string) (suffix string, ok bool) {
	suffix, ok = strings.CutPrefix(name, n.Session)
	return suffix, ok && (suffix == "" || suffix[0] == '.')
}

// Clash returns two names that could be confused, "" if there are none.
func (n *Names) Clash() (a, b string) {
	others := append([]string{n.CSRF, n.CallbackURL}, n.others...)
	for i, name := range others {
		if j := slices.Index(others[:i], name); j >= 0 {
			return others[j], name
		}
	}
	for _, name := range append(others, n.prefixes...) {
		if _, ok := n.SessionPart(name); ok {
			return n.Session, name
		}
	}
	for _, name := range []string{n.Session, n.CSRF, n.CallbackURL} {
		for _, prefix := range n.prefixes {
			if strings.HasPrefix(name, prefix) {
				return prefix, name
			}
		}
	}
	return "", ""
}

// A Pair is a cookie as a browser sends it.
type Pair struct{ Name, Value string }

// MaxKept limits how many of our cookies are kept of one request.
const MaxKept = 64

// A Jar holds the request's cookies that concern the engine, with their values as sent.
type Jar struct {
	Names    *Names
	Pairs    []Pair
	Size     int // bytes of all Cookie header lines, including other programs' cookies
	Overflow bool
}

// Parse reads the Cookie header lines. Names must match exactly. Values are not
// unquoted, and trimmed only as RFC 6265bis §5.4 says.
func (j *Jar) Parse(header http.Header, room []Pair) {
	j.Pairs = room[:0]
	for _, line := range header["Cookie"] {
		j.Size += len(line)
		for len(line) > 0 {
			var part string
			part, line, _ = strings.Cut(line, ";")
			name, value, ok := strings.Cut(part, "=")
			if !ok {
				continue
			}
			if name = strings.Trim(name, " \t"); !j.Names.Ours(name) {
				continue
			}
			if len(j.Pairs) == MaxKept {
				j.Overflow = true
				return
			}
			j.Pairs = append(j.Pairs, Pair{name, strings.Trim(value, " \t")})
		}
	}
}

// Get returns the value of the cookie name. If it came with two different values, Get
// returns none: a sibling host may have planted one of them (cookie tossing).
func (j *Jar) Get(name string) (string, bool) {
	value, found := "", false
	for i := range j.Pairs {
		if j.Pairs[i].Name != name {
			continue
		}
		if found && j.Pairs[i].Value != value {
			return "", false
		}
		value, found = j.Pairs[i].Value, true
	}
	return value, found
}

// Session joins the chunks of the session cookie. present reports whether any cookie of
// that name or its chunks came. If present is true and value is "", the cookies do not
// make sense together and must be expired.
func (j *Jar) Session() (value string, present bool) {
	var chunks [MaxChunks]string
	n, bare := 0, false
	for i := range j.Pairs {
		suffix, ok := j.Names.SessionPart(j.Pairs[i].Name)
		if !ok {
			continue
		}
		present = true
		v := j.Pairs[i].Value
		if suffix == "" {
			if v == "" || bare && v != value {
				return "", true
			}
			value, bare = v, true
			continue
		}
		k, ok := ChunkIndex(suffix)
		if !ok || v == "" || chunks[k] != "" && chunks[k] != v {
			return "", true
		}
		if chunks[k] == "" {
			n++
		}
		chunks[k] = v
	}
	if j.Overflow {
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

// ChunkIndex parses the suffix of a chunk's name, such as ".3".
func ChunkIndex(suffix string) (int, bool) {
	if len(suffix) != 2 || suffix[0] != '.' || suffix[1] < '0' || suffix[1] >= '0'+MaxChunks {
		return 0, false
	}
	return int(suffix[1] - '0'), true
}

// A Cookie is one Set-Cookie line. A zero Expires makes it a browser-session cookie;
// Expire deletes the cookie.
type Cookie struct {
	Name, Value string
	Domain      string
	Path        string // "" is /
	Expires     time.Time
	MaxAge      time.Duration // in addition to Expires, where a wrong clock of the browser must not matter
	Expire      bool
}

// Line returns the Set-Cookie line.
func (c *Cookie) Line(secure bool) string {
	var b strings.Builder
	b.Grow(len(c.Name) + len(c.Value) + 120)
	b.WriteString(c.Name)
	b.WriteByte('=')
	b.WriteString(c.Value)
	if c.Expire {
		b.WriteString("; Max-Age=0")
	}
	if c.MaxAge > 0 {
		b.WriteString("; Max-Age=")
		b.WriteString(strconv.Itoa(int(c.MaxAge / time.Second)))
	}
	if c.Domain != "" {
		b.WriteString("; Domain=")
		b.WriteString(c.Domain)
	}
	b.WriteString("; Path=")
	b.WriteString(cmp.Or(c.Path, "/"))
	if !c.Expires.IsZero() {
		b.WriteString("; Expires=")
		b.WriteString(c.Expires.UTC().Format(http.TimeFormat))
	}
	b.WriteString("; HttpOnly")
	if secure {
		b.WriteString("; Secure")
	}
	b.WriteString("; SameSite=Lax")
	return b.String()
}

// FitsOne reports whether a name and its value fit into one cookie.
func FitsOne(name, value string) bool { return len(name)+len(value) <= Max }

// Fits reports whether a session's value fits into MaxChunks cookies.
func Fits(value string) bool { return len(value) <= ChunkSize*MaxChunks }

// Chunks returns the number of cookies that a session's value needs.
func Chunks(value string) int { return (len(value) + ChunkSize - 1) / ChunkSize }

// ValidPrefix reports whether s may be the prefix of the cookie names. It excludes dots,
// which divide names, and the prefixes that have a meaning to browsers.
func ValidPrefix(s string) bool {
	return len(s) <= 32 && !strings.HasPrefix(s, "__") && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

// ValidName reports whether s may be a cookie name. It keeps hostile names out of
// Set-Cookie lines.
func ValidName(s string) bool {
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
