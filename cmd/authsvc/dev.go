package main

type devCommand struct {
	Listen string `placeholder:"HOST:PORT" default:"localhost:3000" help:"Where to listen; a loopback address."`
}

// Run starts the development mode.
func (c *devCommand) Run(p *program) error { return runDev(p, c) }
