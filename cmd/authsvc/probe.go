package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"authsvc/cmd/authsvc/internal/config"
	"authsvc/cmd/authsvc/internal/probe"
	"authsvc/engine"
	"authsvc/internal/protocol/weburl"
	"authsvc/internal/text/plainlog"
)

type probeCommand struct {
	Origin     string   `placeholder:"URL" help:"One host of gate.hosts, such as https://app.example.com. Default: all."`
	CookieFile string   `placeholder:"FILE" help:"Cookies of a signed-in user, as curl --cookie-jar writes them, or one line name=value."`
	Echo       bool     `help:"authsvc echo runs in place of the programs: also check what arrives there."`
	Rate       float64  `default:"5" placeholder:"N" help:"Requests a second. Default: 5."`
	ConnectTo  []string `placeholder:"HOST:PORT=ADDRESS:PORT" sep:"none" help:"Connect to another address than the name has; may be repeated."`
	Port       []string `placeholder:"PORT" help:"A port that the program itself listens on, to try at the name of the host; may be repeated."`
	CAFile     string   `name:"ca-file" placeholder:"FILE" help:"PEM certificates to trust instead of the system's."`
	JSON       bool     `name:"json" help:"Print one JSON object per attempt."`
}

// Run attacks the hosts behind the gate. It does not read the store, and judges only by
// what the network answers.
func (c *probeCommand) Run(p *program) error {
	s, err := p.load(nil)
	if err != nil {
		return err
	}
	service, err := prepareEngine(s, addToConditions(s))
	if err != nil {
		return err
	}
	o := probe.Options{Identity: service.IdentityHeaders(), Rate: c.Rate, Echo: c.Echo}
	if o.ConnectTo, err = connectTo(c.ConnectTo); err != nil {
		return err
	}
	if c.Rate <= 0 || c.Rate > 1000 {
		return fmt.Errorf("--rate must be above 0 and at most 1000: %w", errUsage)
	}
	if o.Hosts, err = c.hosts(p, s, service); err != nil {
		return err
	}
	if c.CAFile != "" {
		raw, err := os.ReadFile(c.CAFile)
		if err != nil {
			return fmt.Errorf("--ca-file: %w: %w", err, errUsage)
		}
		if o.Roots = x509.NewCertPool(); !o.Roots.AppendCertsFromPEM(raw) {
			return fmt.Errorf("--ca-file %s has no certificate: %w", c.CAFile, errUsage)
		}
	}
	o.Passes = func(origin, method, target string, header http.Header) bool {
		e, err := service.DryRunGate(p.ctx, engine.GateQuestion{Method: method, URL: origin + target, Header: header})
		return err == nil && e.Verdict == "allowed"
	}
	return c.report(p, o)
}

// connectTo parses --connect-to.
func connectTo(list []string) (map[string]string, error) {
	to := map[string]string{}
	for _, text := range list {
		from, address, ok := strings.Cut(text, "=")
		_, _, fromErr := net.SplitHostPort(from)
		_, _, err := net.SplitHostPort(address)
		if !ok || fromErr != nil || err != nil {
			return nil, fmt.Errorf("--connect-to %s: write HOST:PORT=ADDRESS:PORT, such as app.example.com:443=192.0.2.7:443: %w", truncate(text), errUsage)
		}
		to[strings.ToLower(from)] = address
	}
	return to, nil
}

// hosts returns the hosts of the configuration, or the one that --origin names.
func (c *probeCommand) hosts(p *program, s *config.Settings, service *engine.Operator) (list []probe.Host, err error) {
	cookies := ""
	if c.CookieFile != "" {
		raw, err := os.ReadFile(c.CookieFile)
		if err != nil {
			return nil, fmt.Errorf("--cookie-file: %w: %w", err, errUsage)
		}
		cookies = string(raw)
	}
	base := service.BaseURL()
	base = strings.TrimPrefix(base, weburl.OriginOf(base))
	for i, h := range s.Engine.Gate.Hosts {
		// One name stands for all hosts of a wildcard.
		origin := strings.Replace(h.Origin, "*", "authsvc-probe", 1)
		if c.Origin != "" {
			origin = c.Origin
		}
		e, err := service.DryRunGate(p.ctx, engine.GateQuestion{URL: origin + "/"})
		if err != nil || e.Host != i {
			continue
		}
		one := probe.Host{Origin: e.Origin, Base: base, Login: service.BaseURL(), Ports: c.Port}
		for _, r := range h.Rules {
			one.Rules = append(one.Rules, sampleOf(r.Match))
		}
		if _, address := upstreamAddress(h.Upstream); h.Upstream != "" && !strings.HasPrefix(h.Upstream, "unix:") {
			if _, port, err := net.SplitHostPort(address); err == nil {
				one.Ports = append(one.Ports, port)
			}
		}
		if cookies != "" {
			if one.Cookie, err = probe.Cookies(cookies, weburl.Hostname(e.Origin)); err != nil {
				return nil, fmt.Errorf("--cookie-file %s %w: %w", c.CookieFile, err, errUsage)
			}
		}
		list = append(list, one)
	}
	if len(list) == 0 && c.Origin != "" {
		return nil, fmt.Errorf("--origin %s is not a host of gate.hosts: %w", truncate(c.Origin), errUsage)
	}
	if len(list) == 0 {
		return nil, errors.New("there is nothing behind the gate: gate.hosts is empty")
	}
	return list, nil
}

// sampleOf returns a request that matches a pattern.
func sampleOf(match string) string {
	method, path, ok := strings.Cut(match, " ")
	if !ok {
		method, path = "", match
	}
	parts := strings.Split(strings.TrimSpace(path), "/")
	for i, part := range parts {
		switch {
		case part == "{$}":
			parts[i] = ""
		case strings.HasPrefix(part, "{"), part == "" && i > 0 && i == len(parts)-1:
			parts[i] = "probe"
		}
	}
	return strings.TrimSpace(method + " " + weburl.Escape(strings.Join(parts, "/")))
}

// report prints the finding of each attempt. It fails if an attempt found a hole or a
// broken sign-in, or did not reach its host.
func (c *probeCommand) report(p *program, o probe.Options) error {
	ctx, stop := signal.NotifyContext(p.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	counts, fixed := map[string]int{}, map[string]bool{}
	var failed error
	o.Report = func(f probe.Finding) {
		counts[f.Result]++
		if c.JSON {
			failed = errors.Join(failed, p.printLine(f))
			return
		}
		line := fmt.Sprintf("%-7s  %s %s: %s", f.Result, f.Origin, f.Kind, f.Request)
		if f.Request != "" {
			line += ": "
		}
		fmt.Fprintln(p.stdout, plainlog.Text(line+f.Why))
		if len(f.Fix) > 0 && !fixed[f.Kind] {
			fixed[f.Kind] = true
			for _, fix := range f.Fix {
				if fix.Proxy != "" {
					fix.Proxy += ": "
				}
				fmt.Fprintf(p.stdout, "         %s%s\n", fix.Proxy, fix.Text)
			}
		}
	}
	probe.Run(ctx, o)
	if !c.JSON {
		fmt.Fprintf(p.stdout, "%s: %s, %d broken, %d unclear, %d failed, %d skipped\n",
			plural(counts[probe.OK]+counts[probe.Hole]+counts[probe.Broken]+counts[probe.Unclear]+counts[probe.Failed], "attempt", "attempts"), plural(counts[probe.Hole], "hole", "holes"), counts[probe.Broken], counts[probe.Unclear], counts[probe.Failed], counts[probe.Skipped])
	}
	switch {
	case failed != nil:
		return failed
	case ctx.Err() != nil:
		return errors.New("interrupted: some attempts were not made")
	case counts[probe.Hole]+counts[probe.Broken]+counts[probe.Failed] > 0:
		return errFindings
	}
	return nil
}

type echoCommand struct {
	Listen string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where to listen. Default: 127.0.0.1:8080."`
}

// Run answers each request with its contents until a signal stops it.
func (c *echoCommand) Run(p *program) error {
	ctx, stop := signal.NotifyContext(p.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	if at, err := netip.ParseAddrPort(l.Addr().String()); err != nil || !at.Addr().IsLoopback() {
		fmt.Fprintln(p.stderr, "warning: anyone who reaches this address sees what they send; a program behind a proxy should listen on loopback")
	}
	fmt.Fprintf(p.stdout, "echo at http://%s\n", l.Addr())
	server := &http.Server{Handler: probe.Echo(), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return server.Shutdown(ctx)
}
