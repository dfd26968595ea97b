package main

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/internal/protocol/weburl"
)

// streamTime is how long a program may continue to send a response after a signal to
// stop, or after a reload whose rules the response has not been checked against.
const streamTime = 10 * time.Second

type gateCommand struct {
	Upstream string   `required:"" placeholder:"URL" help:"The program: http://127.0.0.1:8080, https://… or unix:/path."`
	Origin   string   `placeholder:"URL" help:"The origin at which browsers reach it; overrides url of the configuration."`
	Allow    []string `placeholder:"WHO" sep:"none" help:"Who may pass: anyone, signed_in (default), nobody, or KEY=VALUE[,VALUE] with a key of gate.hosts[].rules[].allow[], such as domains=example.com. May be repeated; one must match."`
	Listen   string   `placeholder:"HOST:PORT" help:"Where to listen; overrides the configuration."`
}

// Run starts the service with one host behind the gate, in addition to the hosts of the
// configuration.
func (c *gateCommand) Run(p *program) error {
	p.adapt = append(p.adapt, func(s *config.Settings) error {
		if problem := addGateHost(s, c.Upstream, c.Allow); problem != "" {
			return fmt.Errorf("%s: %w", problem, errUsage)
		}
		return nil
	})
	return p.start(nonEmpty(map[string]string{"listen": c.Listen, "url": c.Origin}))
}

// addGateHost puts a program behind sign-in at the origin of the URL. It returns the
// problem with the flags, or "".
func addGateHost(s *config.Settings, upstream string, allow []string) (problem string) {
	if upstream == "" {
		return ""
	}
	who, problem := s.AllowText(allow)
	if problem != "" {
		return problem
	}
	own := authsvc.GateHost{Origin: weburl.OriginOf(s.Engine.URL), Upstream: upstream, Default: who}
	s.Engine.Gate.Hosts = append(s.Engine.Gate.Hosts, own)
	return ""
}

// checkUpstreams reports hosts that have no upstream although no proxy may ask. This
// program has no handler of its own.
func checkUpstreams(s *config.Settings) error {
	var mistakes config.Mistakes
	for i, h := range s.Engine.Gate.Hosts {
		if h.Upstream == "" && len(s.Engine.Gate.Proxies) == 0 && len(s.Engine.TrustedProxies) == 0 {
			mistakes = append(mistakes, s.Mistake(fmt.Sprintf("gate.hosts[%d].upstream", i), "is missing",
				"write the address of the program, such as http://127.0.0.1:8080, or name the proxy that asks about its requests in trusted_proxies"))
		}
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	return nil
}

// gatedHandler returns the handler of a request for a host of the gate. It returns nil
// if the request is for another host, or for the routes of the service.
func (h *originHandler) gatedHandler(r *http.Request) http.Handler {
	if h.gated(r.Host) < 0 {
		return nil
	}
	base := strings.TrimPrefix(h.base, h.origin)
	if path := r.URL.EscapedPath(); path == base || strings.HasPrefix(path, base+"/") || path == wellKnown+base && h.matchesHost(r.Host) {
		if h.matchesHost(r.Host) {
			return nil
		}
		return h.service
	}
	return h.gate
}
