package authsvc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"authsvc/internal/gate"
	"authsvc/internal/upstream"
	"authsvc/internal/weburl"
)

// checkGate compiles Config.Gate. It comes after the providers, whose ids conditions
// name.
func checkGate(b *builder, s *Service) {
	c := &b.config.Gate
	s.gate.recheck = cmp.Or(c.Recheck, 30*time.Second)
	s.gate.streams, s.gate.endStreams = context.WithCancel(context.Background()) // #nosec G118 -- Close calls it
	if s.gate.recheck < 5*time.Second || s.gate.recheck > 10*time.Minute {
		b.fail("Gate.Recheck", "is not from 5 s to 10 min", "use a duration such as 30s, the default")
	}
	timeout := cmp.Or(c.UpstreamTimeout, time.Minute)
	if timeout < time.Second || timeout > time.Hour {
		b.fail("Gate.UpstreamTimeout", "is not from 1 s to 1 h", "use a duration such as 60s, the default")
	}
	b.identityHeaders(s)
	if len(c.Hosts) == 0 {
		return
	}
	b.checkers(s)
	var hosts []gate.Host
	for i, h := range c.Hosts {
		at := fmt.Sprintf("Gate.Hosts[%d]", i)
		compiled := gate.Host{Origin: h.Origin, Default: b.allow(s, h.Default, at+".Default")}
		for j, r := range h.Rules {
			compiled.Rules = append(compiled.Rules, gate.Rule{Match: r.Match, Allow: b.allow(s, r.Allow, fmt.Sprintf("%s.Rules[%d].Allow", at, j))})
		}
		hosts = append(hosts, compiled)
		s.gate.websocket = append(s.gate.websocket, b.websocketOrigins(h.WebSocketOrigins, at))
		s.gate.upstreams = append(s.gate.upstreams, b.upstream(s, h.Upstream, at, timeout))
	}
	table, problems := gate.Compile(hosts)
	for _, p := range problems {
		b.fail("Gate."+p.Field, p.Problem, p.Fix)
	}
	if s.gate.table = table; len(problems) == 0 {
		b.cookiesReach(s, c.Hosts)
	}
}

// allow compiles who may pass.
func (b *builder) allow(s *Service, a Allow, field string) gate.Allow {
	compiled := gate.Allow{Anyone: a.Anyone, Nobody: a.Nobody}
	if a.Anyone && a.Nobody || (a.Anyone || a.Nobody) && len(a.AnyOf) > 0 {
		b.fail(field, "says more than one thing", "let anyone pass, or nobody, or whoever a condition holds for")
	}
	for i, c := range a.AnyOf {
		at := fmt.Sprintf("%s.AnyOf[%d]", field, i)
		one := gate.Condition{MaxAge: c.MaxAge}
		if c.MaxAge < 0 {
			b.fail(at+".MaxAge", "is negative", "use a duration such as 1h")
		}
		if one.Access = accessOf(c); !one.Access.Empty() || c.MaxAge == 0 && c.When == nil {
			one.Access = b.condition(s, c, at, b.config.Callbacks.Claims != nil)
		}
		if c.When != nil {
			one.When = s.when(c.When)
		}
		compiled.AnyOf = append(compiled.AnyOf, one)
	}
	return compiled
}

var errConditionPanicked = errors.New("it panicked")

// when calls a condition's function. A panic is an error, and an error refuses.
func (s *Service) when(call func(context.Context, AccessRequest) (bool, error)) func(context.Context, *gate.Asked) (bool, error) {
	return func(ctx context.Context, a *gate.Asked) (holds bool, err error) {
		defer s.recovered("a condition of the gate", func() { holds, err = false, errConditionPanicked })
		r, _ := a.Request.(AccessRequest)
		return call(ctx, r)
	}
}

// websocketOrigins are in the spelling of browsers.
func (b *builder) websocketOrigins(list []string, at string) (origins []string) {
	for i, raw := range list {
		origin, ok := weburl.ExactOrigin(raw)
		if !ok {
			b.fail(fmt.Sprintf("%s.WebSocketOrigins[%d]", at, i), fmt.Sprintf("%q is not an origin", printable(raw, 80)), "write scheme, host and port only, such as https://www.example.com")
		}
		origins = append(origins, origin)
	}
	return origins
}

// upstream makes the proxy to a program, nil without one.
func (b *builder) upstream(s *Service, raw, at string, timeout time.Duration) http.Handler {
	if raw == "" {
		return nil
	}
	target, err := upstream.Parse(raw)
	if err != nil {
		b.fail(at+".Upstream", fmt.Sprintf("%q is not the address of a program", printable(raw, 80)), "write scheme, host and port, such as http://127.0.0.1:8080, or unix:/path/of/a/socket")
		return nil
	}
	if target.Origin != "" && target.Origin == s.origin {
		b.fail(at+".Upstream", "is the address of this service, which would ask itself", "write the address of the program behind it", "URL")
	}
	p := upstream.New(upstream.Options{Target: target, Timeout: timeout,
		OurCookie: s.names.ours,
		Client: func(r *http.Request) string {
			if ip := s.request(r).clientIP(); ip.IsValid() {
				return ip.String()
			}
			return ""
		},
		Origin: func(host string) string { _, origin := s.gate.table.Find(host); return origin },
		Failed: s.upstreamFailed,
		Dropped: func(name string) {
			s.log.Warn("a program behind the gate sets a cookie by a name of ours, which is not passed on, here and silently from now on", "cookie", printable(name, 80))
		}})
	s.gate.idle = append(s.gate.idle, p.CloseIdleConnections)
	return p
}

// identityHeaders compiles Config.Gate.Headers.
func (b *builder) identityHeaders(s *Service) {
	c := b.config.Gate.Headers
	for _, h := range []struct {
		field string
		names []string
		usual string
		of    func(*Session) string
	}{
		{"UserID", c.UserID, "X-Auth-User-Id", func(v *Session) string { return identityValue(v.UserID) }},
		{"Email", c.Email, "X-Auth-Email", func(v *Session) string {
			if !v.EmailVerified {
				return ""
			}
			return identityValue(v.Email)
		}},
		{"Name", c.Name, "X-Auth-Name", func(v *Session) string { return identityValue(v.Name) }},
		{"Groups", c.Groups, "X-Auth-Groups", groupsValue},
	} {
		names := h.names
		if names == nil {
			names = []string{h.usual}
		}
		if len(names) > 10 {
			b.fail("Gate.Headers."+h.field, "has more than 10 names", "leave some out")
		}
		for i, name := range names {
			if problem := identityProblem(&s.gate, name); problem != "" {
				b.fail(fmt.Sprintf("Gate.Headers.%s[%d]", h.field, i), fmt.Sprintf("%q %s", printable(name, 60), problem), "use a name of its own, such as "+h.usual)
				continue
			}
			s.gate.headers = append(s.gate.headers, identityHeader{textproto.CanonicalMIMEHeaderKey(name), h.of})
		}
	}
}

// reservedHeaders mean something else to servers.
var reservedHeaders = []string{"Host", "Cookie", "Authorization", "Connection", "Upgrade", "Origin", "Content-Length", "Content-Type", "Transfer-Encoding", "Te", "Trailer",
	"Accept", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"}

func identityProblem(g *gated, name string) string {
	switch {
	case !httpguts.ValidHeaderFieldName(name) || strings.Contains(name, "_"):
		return "is not the name of a header: letters, digits and - only"
	case slices.Contains(reservedHeaders, textproto.CanonicalMIMEHeaderKey(name)):
		return "is a header that means something else"
	case g.isIdentity(name):
		return "is named twice"
	}
	return ""
}

// cookiesReach records hosts that the session cookie does not get to.
func (b *builder) cookiesReach(s *Service, hosts []GateHost) {
	own, err := url.Parse(s.origin)
	if err != nil || s.origin == "" {
		return
	}
	for i, h := range hosts {
		u, err := url.Parse(strings.Replace(h.Origin, "://*.", "://any.", 1))
		if err != nil {
			continue
		}
		host := strings.ToLower(u.Hostname())
		domain := strings.ToLower(s.names.domain)
		at := fmt.Sprintf("Gate.Hosts[%d].Origin", i)
		switch {
		case u.Scheme != own.Scheme:
			b.fail(at, fmt.Sprintf("%q has another scheme than URL, and so not its cookies", printable(h.Origin, 80)), "serve both by https, or both by http on this machine", "URL")
		case host == strings.ToLower(own.Hostname()) && !strings.Contains(h.Origin, "://*."):
		case domain != "" && net.ParseIP(host) == nil && (host == domain || strings.HasSuffix(host, "."+domain)):
		default:
			b.fail(at, fmt.Sprintf("%q does not get the session cookie, which is for the host of URL alone", printable(h.Origin, 80)),
				"set Cookies.Domain to the parent domain of both, such as example.com", "URL", "Cookies.Domain")
		}
	}
}
