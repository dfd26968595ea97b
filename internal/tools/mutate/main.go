// Command mutate takes one security check at a time out of the source and runs
// the tests that have to notice. A mutation that no test notices survives: the
// check is there, but nothing would say so if it were gone.
//
//	go run ./internal/tools/mutate            # all, many minutes
//	go run ./internal/tools/mutate -only iss  # those whose name contains "iss"
//
// The tree is not written to: the changed file goes to the compiler as an
// overlay. The exit status is 1 if anything survives.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// unrelated are tests that judge the source, speed or waiting, not checks.
const unrelated = "^Test(MailServerDown|SessionFloor|ExposeFloor|Arrows|Bans|HouseRules|Gallery)$"

func main() {
	only := flag.String("only", "", "run only mutations whose name contains this `text`")
	limit := flag.Duration("limit", 5*time.Minute, "`time` that the tests of one mutation get")
	jobs := flag.Int("jobs", 2, "how many `mutations` are tried at a time")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "mutate: there are no arguments; -only TEXT chooses")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	survivors, err := run(ctx, os.Stdout, *only, *limit, *jobs)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

// run tries every mutation that is asked for and counts the survivors.
func run(ctx context.Context, out io.Writer, only string, limit time.Duration, jobs int) (survivors int, err error) {
	var mu sync.Mutex
	var broken []error
	tried := 0
	report := func(m mutation, took time.Duration, by string, err error) {
		mu.Lock()
		defer mu.Unlock()
		tried++
		verdict := "killed    by " + by
		switch {
		case err != nil:
			broken = append(broken, fmt.Errorf("%s: %w", m.name, err))
			return
		case by == "":
			survivors++
			verdict = "SURVIVED"
		}
		fmt.Fprintf(out, "%-32s %5.1fs  %s\n", m.name, took.Seconds(), verdict)
	}
	var all errgroup.Group
	all.SetLimit(jobs)
	for _, m := range mutations {
		if !strings.Contains(m.name, only) {
			continue
		}
		all.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			begun := time.Now()
			by, err := m.try(ctx, limit)
			report(m, time.Since(begun), by, err)
			return ctx.Err()
		})
	}
	if err := all.Wait(); err != nil {
		return survivors, err
	}
	if tried == 0 {
		return 0, fmt.Errorf("no mutation has %q in its name", only)
	}
	fmt.Fprintf(out, "mutations: %d, survived: %d\n", tried, survivors)
	return survivors, errors.Join(broken...)
}

// try runs the tests without the check and returns the first that fails, "" if
// none does.
func (m mutation) try(ctx context.Context, limit time.Duration) (by string, err error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	overlay, err := m.overlay(dir)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	packages := []string{m.pkg}
	if m.pkg == "." { // the engine is attacked there
		packages = append(packages, "./verify")
	}
	for _, pkg := range packages {
		cmd := exec.CommandContext(ctx, "go", "test", "-overlay", overlay, "-count=1", "-failfast", "-vet=off", "-skip", unrelated, pkg)
		cmd.WaitDelay = 5 * time.Second
		raw, err := cmd.CombinedOutput()
		if by, err := verdict(ctx, string(raw), err); by != "" || err != nil {
			return by, err
		}
	}
	return "", nil
}

// verdict reads what go test said.
func verdict(ctx context.Context, out string, failed error) (by string, err error) {
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "the time limit: the tests hang", nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	case failed == nil && !strings.HasPrefix(out, "ok "):
		return "", errors.New("no test was run")
	case failed == nil:
		return "", nil
	case !errors.As(failed, &exit):
		return "", failed
	case strings.Contains(out, "[build failed]"), strings.Contains(out, "[setup failed]"):
		return "", fmt.Errorf("it does not compile:\n%s", out)
	}
	return firstFailure(out), nil
}

// firstFailure is the name of the first test that failed.
func firstFailure(out string) string {
	for line := range strings.Lines(out) {
		if _, rest, ok := strings.Cut(line, "--- FAIL: "); ok {
			name, _, _ := strings.Cut(rest, " ")
			return strings.TrimSpace(name)
		}
	}
	return "a failure outside of tests"
}
