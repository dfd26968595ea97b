package oidc

import (
	"errors"
	"net/http"
	"net/textproto"
	"strings"
)

// tokenPlace is where an access token goes in a request.
type tokenPlace struct {
	query  string // parameter; else a header
	name   string // of the header, in canonical form
	scheme string // before the token, with its space
}

// parseTokenPlace reads Config.UserInfoAuth.
func parseTokenPlace(s string) (tokenPlace, error) {
	if s == "" {
		return tokenPlace{name: "Authorization", scheme: "Bearer "}, nil
	}
	bad := errors.New(`userinfo auth: write query:NAME, header:NAME or "header:NAME SCHEME"`)
	kind, rest, _ := strings.Cut(s, ":")
	switch kind {
	case "query":
		if rest == "" || strings.ContainsFunc(rest, notCode) {
			return tokenPlace{}, bad
		}
		return tokenPlace{query: rest}, nil
	case "header":
		name, scheme, spaced := strings.Cut(rest, " ")
		if name == "" || strings.ContainsFunc(name, notCode) || framing(textproto.CanonicalMIMEHeaderKey(name)) {
			return tokenPlace{}, bad
		}
		if spaced {
			if scheme == "" || strings.ContainsFunc(scheme, notCode) {
				return tokenPlace{}, bad
			}
			scheme += " "
		}
		return tokenPlace{name: textproto.CanonicalMIMEHeaderKey(name), scheme: scheme}, nil
	}
	return tokenPlace{}, bad
}

// put attaches a token; an empty one is none.
func (t tokenPlace) put(req *http.Request, token string) {
	switch {
	case token == "":
	case t.query != "":
		q := req.URL.Query()
		q.Set(t.query, token)
		req.URL.RawQuery = q.Encode()
	default:
		req.Header.Set(t.name, t.scheme+token)
	}
}
