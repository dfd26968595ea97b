package gate

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// PlainName reports whether all programs read a header's name alike: it contains only
// letters, digits and -. CGI turns - into _ (RFC 3875 section 4.1.18), and PHP also
// turns dots and spaces into _.
func PlainName(name string) bool {
	for i := range len(name) {
		if c := name[i]; c != '-' && !alphanumeric(c) {
			return false
		}
	}
	return name != ""
}

func alphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// spelled returns a character in a form that is equal for all that programs confuse:
// letters are lower case, and any other character except a digit is -.
func spelled(c byte) byte {
	switch {
	case c >= 'A' && c <= 'Z':
		return c + 'a' - 'A'
	case !alphanumeric(c):
		return '-'
	}
	return c
}

// SameHeader reports whether programs may confuse two headers.
func SameHeader(a, b string) bool { return len(a) == len(b) && begins(a, b) }

// begins reports whether programs may confuse the beginning of a name with another.
func begins(name, with string) bool {
	if len(name) < len(with) {
		return false
	}
	for i := range len(with) {
		if spelled(name[i]) != spelled(with[i]) {
			return false
		}
	}
	return true
}

func isOneOf(name string, list []string) bool {
	return slices.ContainsFunc(list, func(one string) bool { return SameHeader(name, one) })
}

// Forwarding reports whether a header says where a request came from (RFC 7239). A
// client's own header of this kind is not passed on.
func Forwarding(name string) bool {
	return SameHeader(name, "forwarded") || SameHeader(name, "x-real-ip") || begins(name, "x-forwarded-")
}

// misleading lists headers that programs obey although proxies do not expect it. They
// name another path, another host, or set the variable HTTP_PROXY of CGI
// (CVE-2016-5385).
var misleading = []string{"x-original-url", "x-rewrite-url", "x-original-host", "x-host", "proxy"}

// MisleadingNames returns the names of misleading headers in lower case.
func MisleadingNames() []string { return misleading }

// Misleading reports whether a header is one of the misleading ones. The gate removes
// these from clients' requests, unless PassHeaders of the host names them.
func Misleading(name string) bool { return isOneOf(name, misleading) }

// methodHeaders name a method that frameworks use instead of the request's own.
var methodHeaders = []string{"x-http-method-override", "x-http-method", "x-method-override"}

// overrides returns the methods that frameworks use instead of the request's own: from
// headers and from the query.
func overrides(h http.Header, target string) (list []string) {
	for name, values := range h {
		if isOneOf(name, methodHeaders) {
			list = append(list, values...)
		}
	}
	if _, query, some := strings.Cut(target, "?"); some {
		list = appendQueryOverrides(list, query)
	}
	return list
}

// appendQueryOverrides adds the values of _method, under every name that programs read
// as it, such as [_method], _method[0] and .method.
func appendQueryOverrides(list []string, query string) []string {
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, value, _ := strings.Cut(pair, "=")
		if isMethodField(lower(unescaped(name))) {
			list = append(list, unescaped(value))
		}
	}
	return list
}

func isMethodField(name string) bool {
	word := strings.TrimLeftFunc(name, func(r rune) bool { return r < 'a' || r > 'z' })
	rest, ok := strings.CutPrefix(word, "method")
	return ok && word != name && (rest == "" || rest[0] == ']' || rest[0] == '[')
}

// unescaped unescapes a word of a query. Invalid escapes stay as they are.
func unescaped(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return decode(strings.ReplaceAll(s, "+", " "), false)
}

// methodsOf returns the method of a request and the methods in overrides, which some
// frameworks use instead. The list uses the memory of room. methodsOf returns false if
// there are too many methods, or if the request's own is not in capital letters:
// frameworks handle such methods in different ways.
func methodsOf(method string, overrides []string, room []string) ([]string, bool) {
	if !capitals(method) {
		return nil, false
	}
	list := append(room[:0], method)
	for _, text := range overrides {
		for m := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
			if len(m) > maxMethod {
				continue // no method is as long
			}
			for _, m := range [2]string{m, strings.ToUpper(m)} {
				if !slices.Contains(list, m) {
					list = append(list, m)
				}
			}
			if len(list) > 2*maxMethods {
				return nil, false
			}
		}
	}
	return list, true
}

// capitals reports whether s consists of letters from A to Z.
func capitals(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < 'A' || r > 'Z' })
}

// Upgrade returns the protocol, in lower case, that a request may upgrade to: websocket
// (RFC 6455 section 4.1) or a listed one. It returns "" if the request asks for no
// upgrade that may be passed on.
func Upgrade(method string, h http.Header, listed []string) string {
	asked := h["Upgrade"]
	if len(asked) != 1 {
		return ""
	}
	protocol := lower(asked[0])
	if protocol == "websocket" && method == http.MethodGet && slices.Equal(h["Sec-Websocket-Version"], []string{"13"}) && len(h["Sec-Websocket-Key"]) == 1 {
		if key, err := base64.StdEncoding.DecodeString(h["Sec-Websocket-Key"][0]); err == nil && len(key) == 16 {
			return protocol
		}
	}
	if protocol != "websocket" && slices.ContainsFunc(listed, func(p string) bool { return lower(p) == protocol }) {
		return protocol
	}
	return ""
}
