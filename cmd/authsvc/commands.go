package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"

	"authsvc/internal/dev"
	"authsvc/internal/seal"
)

// commands is the command line.
type commands struct {
	Config string `short:"c" placeholder:"FILE" help:"Configuration file. Default: $$AUTHSVC_CONFIG, else authsvc.yaml."`

	Serve       serveCommand       `cmd:"" help:"Run the service."`
	Dev         devCommand         `cmd:"" help:"Try it out on http://localhost:3000, without configuration."`
	Check       checkCommand       `cmd:"" help:"Check configuration, storage, providers and mail."`
	Migrate     migrateCommand     `cmd:"" help:"Show and change the schema and the records of the store."`
	Audit       auditCommand       `cmd:"" help:"Show the audit events in the store."`
	Secret      secretCommand      `cmd:"" help:"Print a new secret."`
	Providers   providersCommand   `cmd:"" help:"List the built-in identity providers."`
	Healthcheck healthcheckCommand `cmd:"" help:"Ask the running service whether it is alive; for containers."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

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

type secretCommand struct{}

// Run prints 256 random bits as 43 characters of base64url.
func (secretCommand) Run(p *program) error {
	_, err := fmt.Fprintln(p.stdout, seal.Token())
	return err
}

// interfaceLabel names the HTTP interface that this program speaks.
const interfaceLabel = "v4-unreleased"

type versionCommand struct{}

// Run prints what the build recorded about itself.
func (versionCommand) Run(p *program) error {
	version, commit := "(unknown)", "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		version = cmp.Or(info.Main.Version, "(devel)")
		settings := map[string]string{}
		for _, s := range info.Settings {
			settings[s.Key] = s.Value
		}
		commit = cmp.Or(settings["vcs.revision"], "(unknown)")
		if settings["vcs.modified"] == "true" {
			commit += ", modified"
		}
		if at := settings["vcs.time"]; at != "" {
			commit += ", " + at
		}
	}
	_, err := fmt.Fprintf(p.stdout, "authsvc %s\ncommit %s\n%s %s/%s\ninterface %s\n",
		version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, interfaceLabel)
	return err
}
