package main

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"authsvc"
	"authsvc/internal/protocol/weburl"
)

// checkGate prints each host of the gate with its rules, and settings that the operator
// may not have intended.
func (k *checker) checkGate(offline bool) {
	for i := range k.settings.Engine.Gate.Hosts {
		h := &k.settings.Engine.Gate.Hosts[i]
		key := fmt.Sprintf("gate.hosts[%d]", i)
		behind := "to " + h.Upstream
		if h.Upstream == "" {
			behind = "behind a proxy that asks"
		}
		k.report(key, h.Origin+" "+behind, nil)
		rows := [][]string{}
		for j, r := range h.Rules {
			rows = append(rows, []string{"        ", r.Match, k.allowText(r.Allow, fmt.Sprintf("%s.rules[%d].allow", key, j))})
		}
		rows = append(rows, []string{"        ", "else", k.allowText(h.Default, key+".default")})
		if err := k.printTable(rows); err != nil {
			k.wrong = true
		}
		k.reportWarnings(k.gateFindings(h, key, offline))
	}
}

// allowText says who may pass, in the words of the configuration.
func (k *checker) allowText(a authsvc.Allow, key string) string {
	switch {
	case a.Nobody:
		return "nobody"
	case a.Anyone:
		return "anyone"
	case len(a.AnyOf) == 0:
		return "signed_in"
	}
	var all []string
	for i := range a.AnyOf {
		all = append(all, k.conditionText(&a.AnyOf[i], fmt.Sprintf("%s[%d]", key, i)))
	}
	return strings.Join(all, " or ")
}

func (k *checker) conditionText(c *authsvc.Condition, key string) string {
	var parts []string
	add := func(name string, values []string) {
		if len(values) > 0 {
			parts = append(parts, name+": "+strings.Join(values, ", "))
		}
	}
	add("emails", c.Emails)
	add("domains", c.Domains)
	add("users", c.Users)
	add("providers", c.Providers)
	add("groups", c.Groups)
	for _, name := range slices.Sorted(maps.Keys(c.Claims)) {
		add("claims."+name, c.Claims[name])
	}
	var networks []string
	for _, n := range c.Networks {
		networks = append(networks, n.String())
	}
	add("networks", networks)
	if c.MaxAge > 0 {
		add("max_age", []string{c.MaxAge.String()})
	}
	if c.Tokens {
		add("tokens", []string{"true"})
	}
	for _, w := range k.settings.Rules.When {
		if w.Key == key+".when" {
			add("when", []string{strings.Join(strings.Fields(w.Text), " ")})
		}
	}
	return "{" + strings.Join(parts, "; ") + "}"
}

// dialTimeout is how long check waits for a program behind the gate.
const dialTimeout = 2 * time.Second

// gateFindings returns settings that the operator may not have intended.
func (k *checker) gateFindings(h *authsvc.GateHost, key string, offline bool) (found []string) {
	if h.Default.Anyone {
		found = append(found, key+".default is anyone: paths without a rule are open to everyone")
	}
	e := &k.settings.Engine
	anybody := len(e.SignIn.Allow) == 0 && k.settings.Rules.SignIn.Text == "" && len(k.settings.Hooks) == 0
	if all := signedIn(h); anybody && all != "" {
		found = append(found, fmt.Sprintf("%s%s lets in every signed-in user, and anyone with an account at a provider can sign in: name who may enter there, or set sign_in.allow", key, all))
	}
	if h.Upstream == "" {
		return found
	}
	network, address := upstreamAddress(h.Upstream)
	if host, _, err := net.SplitHostPort(address); err == nil && strings.HasPrefix(h.Upstream, "http:") && !weburl.Loopback(host) {
		found = append(found, fmt.Sprintf("%s.upstream is another machine, without TLS: anyone in between can read and change requests, and requests that reach it directly are not checked", key))
	}
	if !offline {
		ctx, cancel := context.WithTimeout(k.ctx, dialTimeout)
		defer cancel()
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return append(found, fmt.Sprintf("%s.upstream does not answer at present: %s", key, oneLine(err)))
		}
		_ = conn.Close()
	}
	return found
}

// signedIn returns the key below a host that lets every signed-in user pass, or "".
func signedIn(h *authsvc.GateHost) string {
	enough := func(a authsvc.Allow) bool { return !a.Anyone && !a.Nobody && len(a.AnyOf) == 0 }
	if enough(h.Default) {
		return ".default"
	}
	if i := slices.IndexFunc(h.Rules, func(r authsvc.GateRule) bool { return enough(r.Allow) }); i >= 0 {
		return fmt.Sprintf(".rules[%d]", i)
	}
	return ""
}

// upstreamAddress returns the address to dial for an upstream that has been checked.
func upstreamAddress(upstream string) (network, address string) {
	if path, ok := strings.CutPrefix(upstream, "unix:"); ok {
		return "unix", path
	}
	u, err := url.Parse(upstream)
	if err != nil {
		return "tcp", upstream
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return "tcp", net.JoinHostPort(u.Hostname(), port)
}
