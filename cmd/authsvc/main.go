// Command authsvc runs the engine as a service, configured by a file, environment
// variables and flags. Further commands are for its operator.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"authsvc"
	"authsvc/cmd/authsvc/internal/config"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // an operation failed, or a check found something
	exitUsage  = 2 // the command line or the configuration is wrong
)

// A program holds the environment in which commands run.
type program struct {
	ctx            context.Context
	env            map[string]string
	configPath     string
	stdin          io.Reader
	stdout, stderr io.Writer
	sink           *logSink                               // set by serve, kept across reloads; else nil
	command        string                                 // the chosen command, such as "authsvc users set"
	banner         func(*config.Settings) (string, error) // set by dev; else nil
	opened         func(authsvc.Config) error             // set by dev and --dev: called with the open store, before the engine checks it; else nil
	adapt          []func(*config.Settings) error         // added by some commands: change the loaded settings, in turn
	collect        func()                                 // set by serve: undoes collectLess
	development    bool                                   // the configuration need not be complete; see config.Input
	noFile         bool                                   // without configPath, no file is read
	noSignIn       bool                                   // providers need not be configured
}

// errFindings ends the program with exitFailed after everything has been printed.
var errFindings = errors.New("found something")

// errUsage marks errors in the command line. An error that wraps it ends with its text,
// in whose place finish names the help of the command.
var errUsage = errors.New("see --help")

// errReported ends the program with exitUsage after the mistake has been printed.
var errReported = errors.New("reported")

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
	if len(args) == 0 {
		args = []string{"--help"}
	}
	setRedisLogger(newLogger(stderr, config.Log{})) // serve replaces it
	chosen, file, devDir, err := parse(args, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "authsvc: %s; see %s --help\n", parseProblem(err), commandOf(err))
		return exitUsage
	}
	p := &program{ctx: ctx, env: parseEnviron(environ), configPath: file, command: chosenCommand(chosen), stdin: stdin, stdout: stdout, stderr: stderr}
	if devDir != "" {
		err = p.useDev(devDir, chosen.Command())
	}
	if err == nil {
		err = chosen.Run(p)
	}
	code = p.finish(err)
	if p.sink != nil {
		p.sink.close()
	}
	return code
}

type exitCode int

// finish prints an error and returns the exit code.
func (p *program) finish(err error) int {
	var mistakes config.Mistakes
	switch {
	case isRetryable(err): // the configuration may be right
		fmt.Fprintf(p.stderr, "authsvc: %v\n", err)
		return exitFailed
	case err == nil:
		return exitOK
	case errors.Is(err, errFindings):
		return exitFailed
	case errors.Is(err, errReported):
		return exitUsage
	case errors.Is(err, errUsage):
		fmt.Fprintf(p.stderr, "authsvc: %ssee %s --help\n", strings.TrimSuffix(err.Error(), errUsage.Error()), p.command)
		return exitUsage
	case errors.As(err, &mistakes):
		fmt.Fprintln(p.stderr, mistakes)
		return exitUsage
	}
	fmt.Fprintf(p.stderr, "authsvc: %v\n", err)
	return exitFailed
}

// parseEnviron parses NAME=value lines.
func parseEnviron(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, line := range environ {
		if name, v, ok := strings.Cut(line, "="); ok {
			env[name] = v
		}
	}
	return env
}
