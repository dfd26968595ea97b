package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"authsvc"
	"authsvc/internal/protocol/gate"
	"authsvc/internal/protocol/upstream"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text"
)

// checkGate compiles Config.Gate. It runs after the providers are compiled, since
// conditions name their IDs.
func checkGate(b *builder, s *gateRoom) {
	c := &b.config.Gate
	s.recheck = cmp.Or(c.Recheck, 30*time.Second)
	if s.recheck < 5*time.Second || s.recheck > 10*time.Minute {
		b.fail("Gate.Recheck", "must be from 5 s to 10 min", "use a duration such as 30s, the default")
	}
	timeout := cmp.Or(c.UpstreamTimeout, time.Minute)
	if timeout < time.Second || timeout > time.Hour {
		b.fail("Gate.UpstreamTimeout", "must be from 1 s to 1 h", "use a duration such as 60s, the default")
	}
	requests := cmp.Or(c.MaxRequests, 4096)
	if requests < 8 {
		b.fail("Gate.MaxRequests", "must be at least 8", "leave it out for the default, 4096")
	}
	s.budget = upstream.NewBudget(requests)
	b.identityHeaders(s)
	if len(c.Hosts) == 0 {
		return
	}
	b.checkers(s)
	var hosts []gate.Host
	for i, h := range c.Hosts {
		at := fmt.Sprintf("Gate.Hosts[%d]", i)
		compiled := gate.Host{Origin: h.Origin, Default: b.allow(s, h.Default, h.Origin, at+".Default")}
		for j, r := range h.Rules {
			compiled.Rules = append(compiled.Rules, gate.Rule{Match: r.Match, Allow: b.allow(s, r.Allow, h.Origin, fmt.Sprintf("%s.Rules[%d].Allow", at, j))})
		}
		hosts = append(hosts, compiled)
		s.matches = append(s.matches, matchesOf(h.Rules))
		s.websocket = append(s.websocket, b.websocketOrigins(h.WebSocketOrigins, at))
		s.claims = append(s.claims, carried(&h))
		s.forwards = append(s.forwards, b.checkForwards(s, &h, at))
		s.upstreams = append(s.upstreams, b.upstream(s, h.Upstream, at, timeout))
	}
	table, problems := gate.Compile(hosts)
	for _, p := range problems {
		for i, h := range c.Hosts {
			if p.Field == fmt.Sprintf("Hosts[%d].Origin", i) {
				p.Fix = inASCII(h.Origin, p.Fix)
			}
		}
		b.fail("Gate."+p.Field, p.Problem, p.Fix)
	}
	if s.site.hosts = table; len(problems) == 0 {
		b.reachHosts(s, c.Hosts)
	}
}

func matchesOf(rules []authsvc.GateRule) (list []string) {
	for _, r := range rules {
		list = append(list, r.Match)
	}
	return list
}

// allow compiles an [authsvc.Allow] of the host with an origin.
func (b *builder) allow(s *gateRoom, a authsvc.Allow, origin, field string) gate.Allow {
	compiled := gate.Allow{Anyone: a.Anyone, Nobody: a.Nobody}
	if a.Anyone && a.Nobody || (a.Anyone || a.Nobody) && len(a.AnyOf) > 0 {
		b.fail(field, "sets options that exclude each other", "let anyone pass, or nobody, or list conditions")
	}
	for i, c := range a.AnyOf {
		at := fmt.Sprintf("%s.AnyOf[%d]", field, i)
		one := gate.Condition{MaxAge: c.MaxAge, Tokens: c.Tokens}
		if c.MaxAge < 0 {
			b.fail(at+".MaxAge", "must not be negative", "use a duration such as 1h")
		}
		b.tokensAt(c, origin, at)
		s.addresses = s.addresses || len(c.Emails)+len(c.Domains) > 0
		if one.Access = accessOf(c); !one.Access.Empty() || c.MaxAge == 0 && c.When == nil && !c.Tokens {
			one.Access = b.condition(s.desk, c, at, b.config.Callbacks.Claims != nil)
		}
		if c.When != nil {
			one.When, s.asks = s.when(c.When), true
		}
		compiled.AnyOf = append(compiled.AnyOf, one)
	}
	return compiled
}

// tokensAt records conditions that no token could meet: no one signs in with one, and it
// has no claims.
func (b *builder) tokensAt(c authsvc.Condition, origin, at string) {
	switch {
	case !c.Tokens:
	case !b.config.PersonalTokens.Enabled && !b.hasAudienceAt(origin):
		b.fail(at+".Tokens", "is set, but no token can match: personal access tokens are not enabled, and no audience has the host's origin as its id",
			"enable personal access tokens, add such an audience, or leave it out", "PersonalTokens.Enabled", "Tokens.Audiences")
	case c.MaxAge != 0 || len(c.Providers)+len(c.Groups)+len(c.Claims) > 0:
		b.fail(at+".Tokens", "is set together with keys that no token can match: providers, groups, claims and the age of the sign-in", "write a separate condition for tokens")
	}
}

// hasAudienceAt reports whether tokens are issued for a host of the gate.
func (b *builder) hasAudienceAt(origin string) bool {
	scheme, host, _ := strings.Cut(origin, "://")
	parent, wildcard := strings.CutPrefix(host, "*")
	origin, _ = weburl.ExactOrigin(origin)
	return slices.ContainsFunc(b.config.Tokens.Audiences, func(a authsvc.Audience) bool {
		if !wildcard {
			return a.ID == origin
		}
		label, ok := strings.CutSuffix(strings.TrimPrefix(a.ID, strings.ToLower(scheme)+"://"), strings.ToLower(parent))
		return ok && !strings.Contains(label, ".")
	})
}

var errConditionPanicked = errors.New("it panicked")

// when wraps a condition's function. A panic becomes an error, and an error refuses the
// request.
func (gt *gateRoom) when(call func(context.Context, authsvc.AccessRequest) (bool, error)) func(context.Context, *gate.Asked) (bool, error) {
	return func(ctx context.Context, a *gate.Asked) (holds bool, err error) {
		defer gt.fleet.Recovered("a condition of the gate", func() { holds, err = false, errConditionPanicked })
		r, _ := a.Request.(authsvc.AccessRequest)
		return call(ctx, r)
	}
}

// websocketOrigins normalises origins to the spelling that browsers send.
func (b *builder) websocketOrigins(list []string, at string) (origins []string) {
	for i, raw := range list {
		origin, ok := weburl.ExactOrigin(raw)
		if !ok {
			b.fail(fmt.Sprintf("%s.WebSocketOrigins[%d]", at, i), fmt.Sprintf("%q is not an origin", text.Printable(raw, 80)), inASCII(raw, "write scheme, host and port only, such as https://www.example.com"))
		}
		origins = append(origins, origin)
	}
	return origins
}

// upstream makes the proxy to a program, or returns nil if there is none.
func (b *builder) upstream(s *gateRoom, raw, at string, timeout time.Duration) *upstream.Proxy {
	if raw == "" {
		return nil
	}
	target, err := upstream.Parse(raw)
	if err != nil {
		b.fail(at+".Upstream", fmt.Sprintf("%q is not the address of a program", text.Printable(raw, 80)), "write scheme, host and port, such as http://127.0.0.1:8080, or unix:/path/to/socket")
		return nil
	}
	if target.Origin != "" && target.Origin == s.site.origin {
		b.fail(at+".Upstream", "is the address of this service, which would call itself", "write the address of the program behind the gate", "URL")
	}
	p := upstream.New(upstream.Options{Target: target, Timeout: timeout,
		OurCookie: s.site.names.Ours,
		Budget:    s.budget,
		Failed:    s.upstreamFailed,
		Dropped: func(name string) {
			s.Log.Warn("a program behind the gate sets a cookie with a name that authsvc uses; it is not passed on, from now on silently", "cookie", text.Printable(name, 80))
		}})
	s.idle = append(s.idle, p.CloseIdleConnections)
	return p
}

// identityHeaders compiles Config.Gate.Headers.
func (b *builder) identityHeaders(s *gateRoom) {
	c := b.config.Gate.Headers
	plain := func(of func(*authsvc.Session) string) func(*authsvc.Session, string) string {
		return func(v *authsvc.Session, _ string) string { return of(v) }
	}
	for _, h := range []struct {
		field string
		names []string
		usual string
		most  int
		of    func(v *authsvc.Session, origin string) string
	}{
		{"UserID", c.UserID, "X-Auth-User-Id", maxIdentity, plain(func(v *authsvc.Session) string { return identityValue(v.UserID) })},
		{"Email", c.Email, "X-Auth-Email", maxIdentity, plain(provedEmail)},
		{"Name", c.Name, "X-Auth-Name", maxIdentity, plain(func(v *authsvc.Session) string { return identityValue(v.Name) })},
		{"Groups", c.Groups, "X-Auth-Groups", maxIdentity, plain(groupsValue)},
		{"Assertion", append([]string{}, c.Assertion...), "X-Auth-Assertion", maxJWT, s.assertion},
	} {
		names := h.names
		if names == nil {
			names = []string{h.usual}
		}
		if len(names) > 10 {
			b.fail("Gate.Headers."+h.field, "has more than 10 names", "remove some")
		}
		for i, name := range names {
			if problem := identityProblem(s, name); problem != "" {
				b.fail(fmt.Sprintf("Gate.Headers.%s[%d]", h.field, i), fmt.Sprintf("%q %s", text.Printable(name, 60), problem), "use a name of its own, such as "+h.usual)
				continue
			}
			s.headers = append(s.headers, identityHeader{textproto.CanonicalMIMEHeaderKey(name), h.most, h.of, underscored(name)})
		}
	}
}

// reservedHeaders have another meaning to servers.
var reservedHeaders = []string{"Host", "Cookie", "Authorization", "Connection", "Upgrade", "Origin", "Content-Length", "Content-Type", "Transfer-Encoding", "Te", "Trailer",
	"Accept", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip"}

func identityProblem(g *gateRoom, name string) string {
	switch {
	case !httpguts.ValidHeaderFieldName(name) || strings.Contains(name, "_"):
		return "is not a header name: use only letters, digits and -"
	case strings.Count(name, "-") > 6: // it would have too many spellings with _ to list
		return "has more than six hyphens"
	case slices.Contains(reservedHeaders, textproto.CanonicalMIMEHeaderKey(name)):
		return "is a header with another meaning"
	case g.isIdentity(name):
		return "is listed twice"
	}
	return ""
}

// reachHosts records which hosts the session cookie reaches, and fails for hosts that
// neither the cookie nor a hand-over can reach.
func (b *builder) reachHosts(s *gateRoom, hosts []authsvc.GateHost) {
	scheme, _, _ := strings.Cut(s.site.origin, "://")
	s.keeper.places.host, s.keeper.places.domain = weburl.Hostname(s.site.origin), strings.ToLower(s.site.names.Domain)
	if s.site.origin == "" {
		return
	}
	entered := false
	for i, h := range hosts {
		at := fmt.Sprintf("Gate.Hosts[%d].Origin", i)
		own, _, _ := strings.Cut(strings.ToLower(h.Origin), "://")
		host := weburl.Hostname(strings.ToLower(h.Origin))
		switch {
		case own != scheme:
			b.fail(at, fmt.Sprintf("%q has another scheme than the service, so it does not get its cookies", text.Printable(h.Origin, 80)), "serve both over https, or both over http on this machine", "URL")
		case s.keeper.reaches(strings.ToLower(h.Origin)):
		case own == "http" && !weburl.Loopback(strings.TrimPrefix(host, "*.")):
			b.fail(at, fmt.Sprintf("%q is http beyond loopback, where its cookie can be read in transit", text.Printable(h.Origin, 80)), "use https for it and for the service", "URL")
		default:
			entered = true
		}
	}
	if !entered || s.Stores() {
		return
	}
	b.warn("without storage a sign-out does not end the sessions of gate hosts that the session cookie does not reach: their cookies stay valid until session.max_age")
}

// carried reports which claims of a session a host's rules name. A condition with a
// function may read any claim.
func carried(h *authsvc.GateHost) func(string) bool {
	names, all := map[string]bool{"groups": true}, false
	lists := [][]authsvc.Condition{h.Default.AnyOf}
	for i := range h.Rules {
		lists = append(lists, h.Rules[i].Allow.AnyOf)
	}
	for _, list := range lists {
		for _, c := range list {
			all = all || c.When != nil
			for name := range c.Claims {
				names[name] = true
			}
		}
	}
	return func(name string) bool { return all || names[name] }
}
