package config

import (
	"strings"

	"authsvc"
)

// gateFields returns the keys of the gate, which puts other programs behind sign-in.
func (s *Settings) gateFields() []field {
	g := &s.Engine.Gate
	return []field{
		{key: "gate.proxies", into: networkListVar(&g.Proxies)},
		{key: "gate.headers.user_id", into: headerNamesVar(&g.Headers.UserID)},
		{key: "gate.headers.email", into: headerNamesVar(&g.Headers.Email)},
		{key: "gate.headers.name", into: headerNamesVar(&g.Headers.Name)},
		{key: "gate.headers.groups", into: headerNamesVar(&g.Headers.Groups)},
		{key: "gate.headers.assertion", into: headerNamesVar(&g.Headers.Assertion)},
		{key: "gate.recheck", into: durationVar(&g.Recheck)},
		{key: "gate.upstream_timeout", into: durationVar(&g.UpstreamTimeout)},
		{key: "gate.hosts", name: "-", into: listVar(&g.Hosts, "write {origin: https://app.example.com, upstream: http://127.0.0.1:8080}", s.gateHostFields)},
	}
}

func (s *Settings) gateHostFields(h *authsvc.GateHost) []field {
	return []field{
		{key: "origin", name: "-", into: stringVar(&h.Origin)},
		{key: "upstream", name: "-", into: stringVar(&h.Upstream)},
		{key: "default", name: "-", into: s.gateAllowVar(&h.Default)},
		{key: "rules", name: "-", into: listVar(&h.Rules, "write {match: /admin/, allow: {groups: [ops]}}", s.gateRuleFields)},
		{key: "websocket_origins", name: "-", into: stringListVar(&h.WebSocketOrigins)},
		{key: "pass_headers", name: "-", into: stringListVar(&h.PassHeaders)},
		{key: "upgrades", name: "-", into: stringListVar(&h.Upgrades)},
	}
}

func (s *Settings) gateRuleFields(r *authsvc.GateRule) []field {
	return []field{
		{key: "match", name: "-", into: stringVar(&r.Match)},
		{key: "allow", name: "-", into: s.gateAllowVar(&r.Allow)},
	}
}

func (s *Settings) gateConditionFields(c *authsvc.Condition) []field {
	return append(conditionFields(c), []field{
		{key: "max_age", name: "-", into: durationVar(&c.MaxAge)},
		{key: "tokens", name: "-", into: boolVar(&c.Tokens)},
		{key: "when", name: "-", into: s.whenVar(&c.When)},
	}...)
}

// gateAllowVar accepts anyone, signed_in, nobody, a condition, or a list of conditions.
func (s *Settings) gateAllowVar(p *authsvc.Allow) setter {
	t := listVar(&p.AnyOf, "write anyone, signed_in, nobody, a condition such as {groups: [ops]}, or a list of conditions", s.gateConditionFields)
	t.kind = "anyone, signed_in, nobody or list of mappings"
	t.reshape = func(v value) value {
		if v.shape != mapping {
			return v
		}
		return value{shape: list, place: v.place, items: []value{v}}
	}
	conditions := t.set
	t.set = func(v value) string {
		*p = authsvc.Allow{}
		if v.shape != scalar {
			if v.shape == list && len(v.items) == 0 {
				return "is an empty list, so no condition can match"
			}
			return conditions(v)
		}
		switch v.text {
		case "anyone":
			p.Anyone = true
		case "nobody":
			p.Nobody = true
		case "signed_in":
		default:
			return quote(v.raw) + " is not known"
		}
		return ""
	}
	return t
}

// headerNamesVar accepts a name, a list of names, or "" for none. A missing key means
// something else: the default.
func headerNamesVar(p *[]string) setter {
	s := stringListVar(p)
	set := s.set
	s.set = func(v value) string {
		problem := set(v)
		*p = []string{}
		return problem
	}
	s.fix = `write X-Auth-User-Id, a list of names, or "" for none`
	return s
}

// AllowText parses the values of --allow: anyone, signed_in, nobody, or
// KEY=VALUE[,VALUE] of a condition.
func (s *Settings) AllowText(texts []string) (a authsvc.Allow, problem string) {
	for _, text := range texts {
		key, values, pair := strings.Cut(text, "=")
		v := value{shape: scalar, text: text, raw: text}
		if pair {
			v = value{shape: mapping, members: []member{{key: key, value: value{shape: scalar, text: values, raw: values}}}}
		}
		one, problem := s.allowOf(v)
		switch {
		case problem != "":
			return a, "--allow " + text + " " + problem
		case len(texts) > 1 && !pair:
			return a, "--allow " + text + " must not be combined with another --allow"
		}
		a.Anyone, a.Nobody, a.AnyOf = one.Anyone, one.Nobody, append(a.AnyOf, one.AnyOf...)
	}
	return a, ""
}

// allowOf parses one value of allow.
func (s *Settings) allowOf(v value) (authsvc.Allow, string) {
	var a authsvc.Allow
	v.place = "command line"
	l := &loader{sources: s.sources, used: map[string]bool{}}
	l.assign(field{key: "allow", name: "-", into: s.gateAllowVar(&a)}, "--allow", v)
	if len(l.mistakes) > 0 {
		return a, l.mistakes[0].Problem + "; " + l.mistakes[0].Fix
	}
	return a, ""
}
