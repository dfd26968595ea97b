package engine

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"authsvc"
	"authsvc/internal/protocol/gate"
	"authsvc/internal/text"
)

// forwards says what one host of the gate receives of a request in addition to what all
// hosts receive.
type forwards struct {
	headers   []string // with names that are otherwise dropped
	protocols []string // that requests may upgrade to, besides websocket
	upstream  bool     // the gate itself says where requests come from, so clients cannot
	tokens    bool     // a rule lets tokens pass
}

// checkForwards compiles a host's options.
func (b *builder) checkForwards(s *gateRoom, h *authsvc.GateHost, at string) forwards {
	f := forwards{headers: h.PassHeaders, protocols: h.Upgrades, upstream: h.Upstream != "", tokens: acceptsTokens(h)}
	if len(f.headers) > maxPassHeaders {
		b.fail(at+".PassHeaders", fmt.Sprintf("has more than %d names", maxPassHeaders), "remove some")
	}
	for i, name := range f.headers {
		problem := ""
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			problem = "is not a header name"
		case s.isIdentity(name):
			problem = "identifies the user, which clients must not do"
		case gate.Forwarding(name):
			problem = "says where a request comes from, which clients must not do"
		}
		if problem != "" {
			b.fail(fmt.Sprintf("%s.PassHeaders[%d]", at, i), fmt.Sprintf("%q %s", text.Printable(name, 60), problem), "name headers that programs need, such as X_Api_Key or X-Original-URL")
		}
	}
	for i, p := range f.protocols {
		problem := ""
		switch {
		case !httpguts.ValidHeaderFieldValue(p) || p == "" || strings.ContainsAny(p, " \t,"):
			problem = "is not a protocol name"
		case strings.EqualFold(p, "h2c") || strings.HasPrefix(strings.ToLower(p), "tls/"):
			problem = "carries further requests, which the gate could not check"
		}
		if problem != "" {
			b.fail(fmt.Sprintf("%s.Upgrades[%d]", at, i), fmt.Sprintf("%q %s", text.Printable(p, 60), problem), "leave it out; WebSockets need no entry")
		}
	}
	return f
}

// maxPassHeaders limits GateHost.PassHeaders, since each header of each request is
// compared with them.
const maxPassHeaders = 50

// arrives reports whether a program receives a client's header. A header that says who
// is asking never arrives. A header that says where the request comes from does not
// arrive if the gate sets such headers itself. Any other header arrives if all programs
// read its name alike and it is not misleading, or if PassHeaders names it.
func (g *gateRoom) arrives(name string, f *forwards) bool {
	switch {
	case g.isIdentity(name), name == proxyKeyHeader, f.upstream && gate.Forwarding(name):
		return false
	case gate.PlainName(name) && !gate.Misleading(name):
		return true
	}
	return slices.ContainsFunc(f.headers, func(p string) bool { return strings.EqualFold(p, name) })
}

// identify returns a copy of a request's header for the program: the headers that
// arrive, and ours that say who is asking. Ours replace those of the client, even if
// the client named them in Connection, for which proxies would remove them again (RFC
// 9110 section 7.6.1). An upgrade stays only if the host allows it.
func (g *gateRoom) identify(s *gateRoom, r *http.Request, v verdict) http.Header {
	from, f := r.Header, &g.forwards[v.site.Index()]
	h := make(http.Header, len(from)+len(g.headers))
	for name, values := range from {
		if g.arrives(name, f) {
			h[name] = values
		} else if !g.dropped.Load() && !gate.PlainName(name) && !g.isIdentity(name) && !g.dropped.Swap(true) {
			s.Log.Warn("a header was not passed on to a program, from now on silently, because programs read its name differently; if the program needs it, add it to pass_headers of its host",
				"header", text.Printable(name, 60), "host", v.origin)
		}
	}
	if v.byToken {
		delete(h, "Authorization")
	}
	stays := len(from["Upgrade"]) > 0 && gate.Upgrade(r.Method, from, f.protocols) != ""
	if !stays {
		delete(h, "Upgrade")
	}
	delete(h, "Http2-Settings")
	if lines := h["Connection"]; len(lines) > 0 {
		h["Connection"] = without(lines, func(option string) bool {
			return g.isIdentity(option) || strings.EqualFold(option, "HTTP2-Settings") || !stays && strings.EqualFold(option, "Upgrade")
		})
	}
	g.setIdentity(s, h, v)
	return h
}

// without removes options from lines of Connection.
func without(lines []string, out func(option string) bool) []string {
	kept := []string{}
	for _, line := range lines {
		for option := range strings.SplitSeq(line, ",") {
			if option = strings.TrimSpace(option); option != "" && !out(option) {
				kept = append(kept, option)
			}
		}
	}
	return kept
}

// ambiguous returns the name of a header that some programs confuse with one about the
// client's identity or the requested target, and that a proxy passes on if the client
// sends it. It returns "" if there is none.
func (g *gateRoom) ambiguous(h http.Header, f *forwards) string {
	for name := range h {
		if !gate.PlainName(name) && (g.isIdentity(name) || gate.Forwarding(name) || gate.Misleading(name)) && !g.arrives(name, f) {
			return name
		}
	}
	return ""
}
