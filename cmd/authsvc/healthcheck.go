package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"authsvc/cmd/authsvc/internal/config"
)

type healthcheckCommand struct {
	Ready  bool   `help:"Ask for readiness, which includes the store."`
	Listen string `placeholder:"HOST:PORT" help:"Where the service listens; overrides the configuration."`
}

// Run asks the service on this machine. It prints ok, or fails unless the service
// answers 200.
func (c *healthcheckCommand) Run(p *program) error {
	s, err := config.Load(config.Input{Path: p.configPath, Env: p.env, Flags: nonEmpty(map[string]string{"listen": c.Listen})})
	if err != nil {
		return err
	}
	path := "/healthz"
	if c.Ready {
		path = "/readyz"
	}
	host, err := localAddress(s.Listen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+path, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{}} // ignores the proxy of the environment
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", path, resp.Status)
	}
	_, err = fmt.Fprintln(p.stdout, "ok")
	return err
}

// localAddress returns the address to connect to for an address to listen on.
func localAddress(listen string) (string, error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return "", errors.New("listen is not host:port")
	}
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return net.JoinHostPort(host, port), nil
}
