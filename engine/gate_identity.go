package engine

import (
	"net/http"
	"strings"

	"authsvc"
	"authsvc/internal/protocol/gate"
)

// An identityHeader is a header that tells programs who is asking.
type identityHeader struct {
	name string // in canonical form
	most int    // bytes
	of   func(v *authsvc.Session, origin string) string

	underscored []string // its other spellings
}

// maxIdentity is the maximum length of an identity header's value, in bytes as sent.
const maxIdentity = 1 << 10

// setIdentity sets the headers that say who is asking.
func (g *gateRoom) setIdentity(s *gateRoom, h http.Header, v verdict) {
	values := v.room
	if len(values) < len(g.headers) {
		values = make([]string, len(g.headers))
	}
	for n, i := range g.headers {
		value := ""
		if v.session != nil {
			value = i.of(v.session, v.origin)
		}
		if len(value) > i.most {
			if !g.tooLong.Swap(true) {
				s.Log.Warn("an identity header is left out, from now on silently: its value is too long", "header", i.name, "bytes", len(value), "most", i.most)
			}
			value = ""
		}
		values[n] = value
		h[i.name] = values[n : n+1 : n+1]
	}
}

func (g *gateRoom) isIdentity(name string) bool {
	for i := range g.headers {
		if gate.SameHeader(name, g.headers[i].name) {
			return true
		}
	}
	return false
}

// identityValue encodes a text for a header: it percent-encodes %, the comma and
// everything except printable ASCII, as UTF-8.
func identityValue(s string) string {
	odd := 0
	for i := range len(s) {
		if isOdd(s[i]) {
			odd++
		}
	}
	if odd == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*odd)
	for i := range len(s) {
		if c := s[i]; isOdd(c) {
			b = append(b, '%', upperHex[c>>4], upperHex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

const upperHex = "0123456789ABCDEF"

// isOdd reports whether a byte is percent-encoded in an identity header.
func isOdd(c byte) bool { return c <= ' ' || c >= 0x7f || c == '%' || c == ',' }

// provedEmail returns the address if it is verified. Otherwise, a program that
// identifies people by address would give an account to anyone who claims its address.
func provedEmail(v *authsvc.Session) string {
	if !v.EmailVerified {
		return ""
	}
	return identityValue(v.Email)
}

// groupsValue joins the entries of the groups claim, each encoded by identityValue.
func groupsValue(s *authsvc.Session) string {
	var list []string
	switch v := s.Claims()["groups"].(type) {
	case string:
		list = append(list, identityValue(v))
	case []any:
		for _, e := range v {
			if text, ok := e.(string); ok && text != "" {
				list = append(list, identityValue(text))
			}
		}
	}
	return strings.Join(list, ",")
}
