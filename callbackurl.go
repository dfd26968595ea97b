package authsvc

import (
	"net/url"
	"strings"
)

// maxCallbackURL is the longest callbackUrl, in bytes: absolute and
// percent-encoded, which is how it is sent and stored.
const maxCallbackURL = 2048

// callbackURL is where the person goes in the end: the body's wish, else the
// query's, else the cookie's, else the origin. It is always absolute.
func (rq *request) callbackURL() string {
	if rq.callbackTo == "" {
		rq.callbackTo = rq.resolveCallback(rq.wantedCallback())
	}
	return rq.callbackTo
}

func (rq *request) wantedCallback() string {
	if rq.body != nil {
		if v := rq.body.get("callbackUrl"); v != "" {
			return v
		}
	}
	if v := rq.query("callbackUrl"); v != "" {
		return v
	}
	return rq.keptCallbackURL()
}

// keptCallbackURL is what the callback-url cookie says. Anybody may have set
// it: it is only a wish.
func (rq *request) keptCallbackURL() string {
	v, ok := rq.jar.get(rq.names.callbackURL)
	if !ok || len(v) > maxCookie {
		return ""
	}
	plain, err := url.QueryUnescape(v)
	if err != nil {
		return ""
	}
	return plain
}

// resolveCallback turns a wish into an allowed absolute URL; a refused wish
// becomes the origin.
func (rq *request) resolveCallback(want string) string {
	if rq.callbacks.Redirect != nil && want != "" {
		if to, ok := rq.askRedirect(want); ok {
			return to
		}
		return rq.origin
	}
	if to, ok := rq.allowedURL(want); ok {
		return to
	}
	return rq.origin
}

// askRedirect asks the Redirect callback, which alone may leave the list.
func (rq *request) askRedirect(want string) (to string, ok bool) {
	defer rq.recovered("redirect callback", func() { to, ok = "", false })
	to = rq.callbacks.Redirect(rq.ctx, want, rq.origin)
	if strings.HasPrefix(to, "/") {
		return rq.allowedURL(to)
	}
	if _, clean, ok := parseHTTPURL(to); ok {
		return clean, true
	}
	return "", false
}

// allowedURL makes a path or a URL of an allowed origin absolute.
func (s *Service) allowedURL(want string) (string, bool) {
	if strings.HasPrefix(want, "/") {
		if strings.HasPrefix(want, "//") {
			return "", false
		}
		want = s.origin + want
	}
	origin, clean, ok := parseHTTPURL(want)
	return clean, ok && s.redirectOrigins[origin]
}

// parseHTTPURL parses an absolute http(s) URL, refusing everything on which
// browsers and Go disagree, and returns its origin and its percent-encoded
// form.
func parseHTTPURL(s string) (origin, clean string, ok bool) {
	if len(s) > maxCallbackURL || strings.ContainsFunc(s, func(r rune) bool {
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
	s = percentEncode(s)
	u, err := url.Parse(s)
	if err != nil || u.User != nil || u.Host == "" || u.Opaque != "" {
		return "", "", false
	}
	origin = originOf(u)
	if origin == "" {
		return "", "", false
	}
	// Scheme and host in canonical spelling, the rest as it was asked for.
	tail := s[len(s)-len(percentEncode(rest)):]
	if i := strings.IndexAny(tail, "/?#"); i >= 0 {
		tail = tail[i:]
	} else {
		tail = ""
	}
	if len(origin)+len(tail) > maxCallbackURL {
		return "", "", false
	}
	return origin, origin + tail, true
}

// originOf is the origin of u as browsers write it: lower case, default port
// dropped. "" if the host is nothing that they agree on.
func originOf(u *url.URL) string {
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
		if port[0] == '0' || len(port) > 5 {
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

// percentEncode escapes what may not stand in a Location header or breaks out
// of an attribute, and leaves what is encoded already.
func percentEncode(s string) string {
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

// keepCallbackURL stores the destination for a later step of this browser. One
// that no cookie can hold, having hundreds of semicolons, is not kept, and
// neither is the one before.
func (rq *request) keepCallbackURL() {
	room := maxCookie - len(rq.names.callbackURL)
	to := url.QueryEscape(rq.callbackURL())
	if len(to) > room {
		to = sparseEscape.Replace(rq.callbackURL())
	}
	have, ok := rq.jar.get(rq.names.callbackURL)
	switch {
	case ok && have == to:
	case len(to) <= room:
		rq.setCookie(cookie{name: rq.names.callbackURL, value: to, domain: rq.names.domain})
	case ok:
		rq.expireCookie(rq.names.callbackURL, rq.names.domain)
	}
}

// keepAskedCallbackURL is keepCallbackURL for a POST that is refused but may be
// tried again: a destination that it names is not lost.
func (rq *request) keepAskedCallbackURL() {
	if rq.body.get("callbackUrl") != "" {
		rq.keepCallbackURL()
	}
}

// sparseEscape is url.QueryEscape for an encoded URL where the latter takes too
// much room: it escapes what a cookie cannot hold and what unescaping would
// change.
var sparseEscape = strings.NewReplacer("%", "%25", "+", "%2B", ",", "%2C", ";", "%3B")

// withQuery appends parameters, given as name, value, name, value …
func withQuery(base string, params ...string) string {
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
