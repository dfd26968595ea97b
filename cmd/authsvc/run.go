package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"

	"authsvc/cmd/authsvc/internal/config"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // something went wrong, or a check found something
	exitUsage  = 2 // the command line or the configuration is wrong
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

// A program is what commands work with: the world outside of the process.
type program struct {
	ctx            context.Context
	env            map[string]string
	configPath     string
	stdin          io.Reader
	stdout, stderr io.Writer
	sink           *logSink // of serve, from its start over all reloads; else nil
}

// errFindings ends the program with exitFailed when everything was said already.
var errFindings = errors.New("found something")

// run executes one command line and returns the exit code.
func run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	defer func() { // kong ends the program after --help
		if v := recover(); v != nil {
			early, ok := v.(exitCode)
			if !ok {
				panic(v)
			}
			code = int(early)
		}
	}()
	var c commands
	parser, err := kong.New(&c, kong.Name("authsvc"), kong.Description("Signs people in: the HTTP interface of NextAuth.js as a service."),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { panic(exitCode(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		panic(err) // the struct above is malformed
	}
	chosen, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "authsvc: %v; see authsvc --help\n", err)
		return exitUsage
	}
	p := &program{ctx: ctx, env: parseEnviron(environ), configPath: c.Config, stdin: stdin, stdout: stdout, stderr: stderr}
	code = p.report(chosen.Run(p))
	if p.sink != nil {
		p.sink.close()
	}
	return code
}

type exitCode int

// report reports an error and chooses the code.
func (p *program) report(err error) int {
	var mistakes config.Mistakes
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFindings):
		return exitFailed
	case errors.As(err, &mistakes):
		fmt.Fprintln(p.stderr, mistakes)
		return exitUsage
	}
	fmt.Fprintf(p.stderr, "authsvc: %v\n", err)
	return exitFailed
}

// parseEnviron takes NAME=value lines apart.
func parseEnviron(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, line := range environ {
		if name, v, ok := strings.Cut(line, "="); ok {
			env[name] = v
		}
	}
	return env
}
