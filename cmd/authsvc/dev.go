package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"authsvc/internal/dev"
)

type devCommand struct {
	Listen string `placeholder:"HOST:PORT" default:"localhost:3000" help:"Where to listen; a loopback address. The identity provider takes the next port."`
	URL    string `name:"url" placeholder:"URL" help:"The origin that the browser sees, when a development server passes /api/auth on."`
	Dir    string `placeholder:"DIR" default:".authsvc" help:"Where the database, the people and the mails are kept."`
}

// Run starts the development mode. No configuration of serve reaches it.
func (c *devCommand) Run(p *program) error {
	host, port, err := net.SplitHostPort(c.Listen)
	number, numErr := strconv.Atoi(port)
	if err != nil || numErr != nil {
		return fmt.Errorf("--listen %s is not HOST:PORT, such as localhost:3000", c.Listen)
	}
	ctx, stop := signal.NotifyContext(p.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return dev.Run(ctx, dev.Options{Dir: c.Dir, Host: host, Port: number, URL: c.URL, Out: p.stdout,
		Log: slog.New(slog.NewTextHandler(p.stderr, nil))})
}
