package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
	"authsvc/devidp"
	"authsvc/internal/dev"
)

// serve is dev with a configuration: serve on loopback, with an identity provider
// that lets anybody in and an inbox for all mail.
func (c *devCommand) serve(p *program) error {
	var started *devidp.Server
	p.adapt = func(s *config.Settings) (err error) {
		if problem := putBehind(s, c.Upstream, nil); problem != "" {
			return fmt.Errorf("%s: %w", problem, errUsage)
		}
		if started != nil { // a reload
			return started.Add(&s.Engine)
		}
		started, err = c.startProvider(s)
		if len(authsvc.ConfigErrors(err)) > 0 { // the engine says so too, with lines
			return nil
		}
		if errors.Is(err, devidp.ErrPublicURL) {
			return fmt.Errorf("dev is for this machine only, and url is %s: %w; add --url http://localhost:3000, or use `authsvc serve`",
				s.Engine.URL, devidp.ErrPublicURL)
		}
		if err == nil {
			p.banner = fmt.Sprintf("For development, on this machine only: anybody can sign in as anybody.\n\n  Sign in at   %s\n  Mails        %s\n  People       %s\n\n",
				s.Engine.URL, started.InboxURL(), started.Issuer())
		}
		return err
	}
	defer func() {
		if started != nil {
			started.Close() //nolint:errcheck // the process ends
		}
	}()
	return p.start(nonEmpty(map[string]string{"listen": c.Listen, "url": c.URL}))
}

// startProvider starts what dev adds, on a port next to that of the service.
func (c *devCommand) startProvider(s *config.Settings) (*devidp.Server, error) {
	if err := devidp.Check(&s.Engine); err != nil { // before what follows from it
		return nil, err
	}
	host, port, err := net.SplitHostPort(s.Listen)
	number, numErr := strconv.Atoi(port)
	if err != nil || numErr != nil || number < 1 || number > 65533 {
		return nil, fmt.Errorf("listen %s is not HOST:PORT, such as localhost:3000", s.Listen)
	}
	if !dev.Listenable(host) {
		return nil, fmt.Errorf("dev listens on loopback only, and listen is %s: %v; add --listen localhost:%d, or use `authsvc serve`",
			s.Listen, devidp.ErrPublicURL, number)
	}
	if err := dev.MakeDir(c.Dir); err != nil {
		return nil, err
	}
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(dev.ProviderPort(number, s.Engine.URL)))
	return devidp.Start(&s.Engine, devidp.Options{Addr: at, Dir: c.Dir})
}
