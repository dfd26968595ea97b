// Command authsvc runs the engine as a service, configured by a file, the
// environment and flags, and has the commands of its operator.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"authsvc/cmd/authsvc/internal/config"
)

func main() {
	os.Exit(run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1 // something went wrong, or a check found something
	exitUsage  = 2 // the command line or the configuration is wrong
)

// A program is the environment that commands run in.
type program struct {
	ctx            context.Context
	env            map[string]string
	configPath     string
	stdin          io.Reader
	stdout, stderr io.Writer
	sink           *logSink                      // of serve, across reloads; else nil
	banner         func(*config.Settings) string // of dev; else nil
	adapt          func(*config.Settings) error  // of dev: changes settings that were read; else nil
	collect        func()                        // of serve: ends what collectLess began
}

// errFindings ends the program with exitFailed when everything was printed already.
var errFindings = errors.New("found something")

// errUsage is in errors about the command line.
var errUsage = errors.New("see --help")

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
	setRedisLogger(newLogger(stderr, config.Log{})) // serve has a better one
	chosen, file, err := parse(args, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "authsvc: %v; see authsvc --help\n", err)
		return exitUsage
	}
	p := &program{ctx: ctx, env: parseEnviron(environ), configPath: file, stdin: stdin, stdout: stdout, stderr: stderr}
	code = p.finish(chosen.Run(p))
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
	case err == nil:
		return exitOK
	case errors.Is(err, errFindings):
		return exitFailed
	case errors.Is(err, errUsage):
		fmt.Fprintf(p.stderr, "authsvc: %v\n", err)
		return exitUsage
	case errors.As(err, &mistakes):
		fmt.Fprintln(p.stderr, mistakes)
		return exitUsage
	}
	fmt.Fprintf(p.stderr, "authsvc: %v\n", err)
	return exitFailed
}

// parseEnviron splits NAME=value lines.
func parseEnviron(environ []string) map[string]string {
	env := make(map[string]string, len(environ))
	for _, line := range environ {
		if name, v, ok := strings.Cut(line, "="); ok {
			env[name] = v
		}
	}
	return env
}
