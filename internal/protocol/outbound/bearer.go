package outbound

import (
	"errors"
	"net/http"
	"net/textproto"
	"strings"
)

// A BearerMethod says how a request carries its access token, in the ways of RFC 6750,
// section 2, and in ways that some services use instead.
type BearerMethod struct {
	query  string // parameter; if empty, a header is used
	header string // name in canonical form
	scheme string // before the token, with its space
}

var authorizationHeader = BearerMethod{header: "Authorization", scheme: "Bearer "}

// ParseBearerMethod reads "query:NAME", "header:NAME" or "header:NAME SCHEME". Empty
// means the header "Authorization: Bearer".
func ParseBearerMethod(s string) (BearerMethod, error) {
	if s == "" {
		return authorizationHeader, nil
	}
	bad := errors.New(`write query:NAME, header:NAME or "header:NAME SCHEME"`)
	kind, rest, _ := strings.Cut(s, ":")
	switch kind {
	case "query":
		if !plainName(rest) {
			return BearerMethod{}, bad
		}
		return BearerMethod{query: rest}, nil
	case "header":
		name, scheme, spaced := strings.Cut(rest, " ")
		if !plainName(name) || framing(textproto.CanonicalMIMEHeaderKey(name)) {
			return BearerMethod{}, bad
		}
		if spaced {
			if !plainName(scheme) {
				return BearerMethod{}, bad
			}
			scheme += " "
		}
		return BearerMethod{header: textproto.CanonicalMIMEHeaderKey(name), scheme: scheme}, nil
	}
	return BearerMethod{}, bad
}

func plainName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.", r))
	})
}

// Set attaches a token to a request, unless the token is empty.
func (m BearerMethod) Set(req *http.Request, token string) {
	switch {
	case token == "":
	case m.query != "":
		q := req.URL.Query()
		q.Set(m.query, token)
		req.URL.RawQuery = q.Encode()
	default:
		req.Header.Set(m.header, m.scheme+token)
	}
}

// Collides reports whether headers set the one that carries the token.
func (m BearerMethod) Collides(headers map[string]string) bool {
	for name := range headers {
		if textproto.CanonicalMIMEHeaderKey(name) == m.header {
			return true
		}
	}
	return false
}
