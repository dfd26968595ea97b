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

	"github.com/alecthomas/kong"

	"authsvc/cmd/authsvc/internal/config"
	"authsvc/internal/dev"
	"authsvc/internal/seal"
)

// commands defines the command line.
type commands struct {
	Config    string `short:"c" placeholder:"FILE" help:"Configuration file. Default: $$AUTHSVC_CONFIG, else authsvc.yaml; for dev, none."`
	DevFolder string `name:"dev" placeholder:"DIR" help:"For types and for commands about records, such as users: use what authsvc dev keeps in this folder, such as .authsvc."`

	Serve       serveCommand       `cmd:"" help:"Run the service."`
	Gate        gateCommand        `cmd:"" help:"Run the service in front of a program: people sign in before they reach it."`
	Dev         devCommand         `cmd:"" help:"Try it out on http://localhost:3000, without configuration, or with -c your own."`
	Check       checkCommand       `cmd:"" help:"Check configuration, storage, providers and mail."`
	Migrate     migrateCommand     `cmd:"" help:"Show and change the schema and the records of the store."`
	MigrateFrom migrateFromCommand `cmd:"" help:"Propose a configuration for an application that uses NextAuth.js."`
	Users       usersCommand       `cmd:"" help:"Show people, add, invite, change, block and delete them."`
	Sessions    sessionsCommand    `cmd:"" help:"Show the sessions of a user, and end one."`
	Accounts    accountsCommand    `cmd:"" help:"Show the identities of a user at providers, and remove one."`
	Audit       auditCommand       `cmd:"" help:"Show the audit events in the store."`
	Types       typesCommand       `cmd:"" help:"Print the TypeScript types of sessions, for next-auth/react or client.js."`
	Rules       rulesCommand       `cmd:"" help:"Test who may sign in, and which claims sessions keep."`
	Probe       probeCommand       `cmd:"" help:"Attack the programs behind the gate from outside, and report what gets past it."`
	Echo        echoCommand        `cmd:"" help:"Run a program that echoes requests, to see what a proxy passes on."`
	Openapi     openapiCommand     `cmd:"" help:"Print the HTTP interface of this configuration, as OpenAPI 3.1."`
	Keys        keysCommand        `cmd:"" help:"Show and change the keys that sign tokens."`
	Tokens      tokensCommand      `cmd:"" help:"Make, show and revoke personal access tokens."`
	Secret      secretCommand      `cmd:"" help:"Print a new secret."`
	Providers   providersCommand   `cmd:"" help:"List the built-in identity providers."`
	Healthcheck healthcheckCommand `cmd:"" help:"Ask the running service whether it is alive; for containers."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
	Help        helpCommand        `cmd:"" help:"Print this help, or the help of a command."`
	Completion  completionCommand  `cmd:"" help:"Print a script that completes commands and flags in bash, zsh or fish."`

	ShowVersion versionFlag `name:"version" help:"Print the version."`
}

// helpCommand prints the same help as --help.
type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command to explain."`
}

// Run prints the help.
func (c helpCommand) Run(p *program) error {
	if code := run(p.ctx, append(c.Command, "--help"), nil, p.stdin, p.stdout, p.stderr); code != exitOK {
		return errReported
	}
	return nil
}

// versionFlag is the flag form of the version command.
type versionFlag bool

// BeforeReset prints the version and ends the program, regardless of other arguments.
func (versionFlag) BeforeReset(app *kong.Kong) error {
	err := versionCommand{}.Run(&program{stdout: app.Stdout})
	app.Exit(exitOK)
	return err
}

type devCommand struct {
	Listen   string `placeholder:"HOST:PORT" help:"Where to listen; a loopback address. The identity provider uses the next port, or the port after it if --url has that one. Default: localhost:3000 or, with -c, its listen or the port of its url."`
	Host     string `placeholder:"ADDRESS" help:"Let other machines connect, with a token that is printed, such as 0.0.0.0 in a container. --listen :PORT then chooses the port."`
	URL      string `name:"url" placeholder:"URL" help:"The origin that the browser sees, if a development server passes on /api/auth or a code space forwards a port. With -c: the whole url. Default with -c: url, moved to localhost."`
	Upstream string `placeholder:"URL" help:"A program to put behind sign-in, such as http://localhost:5173."`
	Dir      string `placeholder:"DIR" default:".authsvc" help:"The folder for the database, the people and the mails. One dev at a time can use it."`

	RealStorage bool `help:"With -c: use storage.url, session.store and secret of the configuration, and send its queued mails to the inbox. Without it, dev uses a database and a secret of its own in --dir."`

	replaced []replacement
}

// Run starts development mode. It ignores the configuration of serve unless -c names
// one.
func (c *devCommand) Run(p *program) error {
	switch {
	case p.configPath != "" && c.Host != "":
		return fmt.Errorf("--host must not be combined with a configuration; remove -c or --host: %w", errUsage)
	case p.configPath != "":
		return c.serve(p)
	}
	usual := "localhost:3000"
	if c.Host != "" {
		usual = ":3000"
	}
	c.Listen = cmp.Or(c.Listen, usual)
	host, port, err := net.SplitHostPort(c.Listen)
	number, numErr := strconv.Atoi(port)
	if err != nil || numErr != nil {
		return fmt.Errorf("--listen %s is not HOST:PORT, such as localhost:3000: %w", c.Listen, errUsage)
	}
	if c.Host != "" && host != "" && host != c.Host {
		return fmt.Errorf("--listen %s and --host %s name different addresses; write --listen %s: %w", c.Listen, c.Host, net.JoinHostPort(c.Host, port), errUsage)
	}
	ctx, stop := signal.NotifyContext(p.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return dev.Run(ctx, dev.Options{Dir: c.Dir, Host: cmp.Or(c.Host, host), Port: number, URL: c.URL, Upstream: c.Upstream, Shared: c.Host != "", Unread: unreadConfig(p.env), Out: p.stdout,
		Log: slog.New(slog.NewTextHandler(p.stderr, nil))})
}

// unreadConfig returns the name of the configuration file that serve would read here, or
// "" if there is none.
func unreadConfig(env map[string]string) string {
	name := cmp.Or(env["AUTHSVC_CONFIG"], config.DefaultPath)
	if info, err := os.Stat(name); err != nil || info.IsDir() {
		return ""
	}
	return name
}

type secretCommand struct{}

// Run prints 256 random bits as 43 characters of base64url.
func (secretCommand) Run(p *program) error {
	_, err := fmt.Fprintln(p.stdout, seal.Token())
	return err
}

// interfaceText names the HTTP interface that this program implements.
const interfaceText = "HTTP interface of NextAuth.js 4"

type versionCommand struct{}

// Run prints the build information.
func (versionCommand) Run(p *program) error {
	b := readBuild()
	commit := b.revision
	if b.modified {
		commit += ", modified"
	}
	if b.at != "" {
		commit += ", " + b.at
	}
	_, err := fmt.Fprintf(p.stdout, "authsvc %s\ncommit %s\n%s %s/%s\n%s\n",
		b.version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH, interfaceText)
	return err
}

// A build holds the version control information of the binary, as far as it is known.
type build struct {
	version, revision, at string
	modified              bool
}

func readBuild() build {
	b := build{version: "(unknown)", revision: "(unknown)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	return build{cmp.Or(info.Main.Version, "(devel)"), cmp.Or(settings["vcs.revision"], "(unknown)"), settings["vcs.time"], settings["vcs.modified"] == "true"}
}
