// Package weburl reads web addresses as browsers do: URLs, origins and sites. It
// refuses everything that Go and browsers read differently.
package weburl

import (
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// MaxLength is the maximum length of a URL that Parse accepts, in bytes,
// percent-encoded.
const MaxLength = 2048

// Parse parses an absolute http(s) URL and returns its origin and its percent-encoded
// form. It refuses everything on which browsers and Go disagree.
func Parse(s string) (origin, clean string, ok bool) {
	if len(s) > MaxLength || strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '\\' || r == '\uFFFD'
	}) {
		return "", "", false
	}
	rest, ok := cutPrefixFold(s, "https://")
	if !ok {
		if rest, ok = cutPrefixFold(s, "http://"); !ok {
			return "", "", false
		}
	}
	if rest == "" || rest[0] == '/' || rest[0] == ' ' || s[len(s)-1] == ' ' {
		return "", "", false
	}
	s = Escape(s)
	u, err := url.Parse(s)
	if err != nil || u.User != nil || u.Host == "" || u.Opaque != "" {
		return "", "", false
	}
	origin = Origin(u)
	if origin == "" {
		return "", "", false
	}
	// Scheme and host in canonical spelling, the rest as received.
	tail := s[len(s)-len(Escape(rest)):]
	if i := strings.IndexAny(tail, "/?#"); i >= 0 {
		tail = tail[i:]
	} else {
		tail = ""
	}
	if len(origin)+len(tail) > MaxLength {
		return "", "", false
	}
	return origin, origin + tail, true
}

// Origin returns the origin of u as browsers write it: in lower case, without a default
// port. It returns "" if browsers do not agree on the host.
func Origin(u *url.URL) string {
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if scheme != "http" && scheme != "https" || host == "" {
		return ""
	}
	v6 := strings.Contains(host, ":")
	for i := 0; i < len(host); i++ {
		c := host[i]
		alnum := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !alnum && c != '-' && c != '.' && c != '_' && !(v6 && c == ':') {
			return ""
		}
	}
	if v6 {
		host = "[" + host + "]"
	}
	if port == "" && strings.HasSuffix(u.Host, ":") ||
		scheme == "https" && port == "443" || scheme == "http" && port == "80" {
		port = ""
	}
	if port != "" {
		if port[0] == '0' || len(port) > 5 || len(port) == 5 && port > "65535" {
			return ""
		}
		host += ":" + port
	}
	return scheme + "://" + host
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return "", false
	}
	return s[len(prefix):], true
}

// Escape escapes characters that are not allowed in a Location header or could end an
// HTML attribute. It leaves existing escapes as they are.
func Escape(s string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c > ' ' && c < 0x7f && strings.IndexByte("\"<>`{|}^\\'", c) < 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hexDigits[c>>4])
		b.WriteByte(hexDigits[c&15])
	}
	return b.String()
}

// HeaderOrigin returns an Origin header in canonical spelling, or "" if it is not an
// origin.
func HeaderOrigin(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return ""
	}
	return Origin(u)
}

// ExactOrigin reads an origin with nothing after it, except an optional slash.
func ExactOrigin(raw string) (string, bool) {
	u, err := url.Parse(raw)
	if err != nil || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	origin := Origin(u)
	return origin, origin != ""
}

// NamesHost reports whether a Host header names the host of an origin, which is in
// canonical spelling. Letters may be upper case, and the default port may be there.
func NamesHost(origin, host string) bool {
	scheme, own, _ := strings.Cut(origin, "://")
	if host == own {
		return true
	}
	named, ok := ExactOrigin(scheme + "://" + host)
	return ok && named == origin && !strings.ContainsAny(host, "/?#")
}

// SameSite reports whether two URLs have the same scheme and registrable domain.
//
// https://html.spec.whatwg.org/multipage/browsers.html#same-site
func SameSite(a, b string) bool {
	x, errX := url.Parse(a)
	y, errY := url.Parse(b)
	if errX != nil || errY != nil || x.Scheme != y.Scheme {
		return false
	}
	if x.Hostname() == y.Hostname() {
		return true
	}
	d, errX := publicsuffix.EffectiveTLDPlusOne(x.Hostname())
	e, errY := publicsuffix.EffectiveTLDPlusOne(y.Hostname())
	return errX == nil && errY == nil && d == e
}

// OriginOf returns the origin of a URL, or "" if it has none.
func OriginOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return Origin(u)
}

// WithQuery appends parameters, given as name, value, name, value …, and skips empty
// values.
func WithQuery(base string, params ...string) string {
	var b strings.Builder
	b.WriteString(base)
	sep := byte('?')
	if strings.Contains(base, "?") {
		sep = '&'
	}
	for i := 0; i+1 < len(params); i += 2 {
		if params[i+1] == "" {
			continue
		}
		b.WriteByte(sep)
		b.WriteString(params[i])
		b.WriteByte('=')
		b.WriteString(url.QueryEscape(params[i+1]))
		sep = '&'
	}
	return b.String()
}
