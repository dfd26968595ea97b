package main

import (
	"os"
	"os/signal"
	"syscall"
)

type devCommand struct {
	Host string `default:"localhost" help:"Where to listen: localhost or a loopback address."`
	Port int    `default:"3000" help:"The port; the identity provider takes the next one."`
	Dir  string `default:".authsvc" placeholder:"DIR" help:"Where the database, the people and the mails are kept."`
}

// Run starts the development mode and returns when it has stopped.
func (c *devCommand) Run(p *program) error {
	ctx, stop := signal.NotifyContext(p.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return runDev(ctx, c.Dir, c.Host, c.Port, p.stdout, p.stderr)
}
