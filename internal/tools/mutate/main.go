// Command mutate removes one security check at a time from the source and runs the
// tests that must notice. If no test notices, the mutation survives: the check
// exists, but its loss would go unnoticed.
//
//	go run ./internal/tools/mutate            # all, an hour
//	go run ./internal/tools/mutate -only iss  # those whose name contains "iss"
//	go run ./internal/tools/mutate -note      # also writes noticed.txt
//
// noticed.txt holds, for each mutation, the test that noticed it last. That test runs
// first to save time. The result is the same, because all other tests follow if it
// passes.
//
// The command does not change the tree: the compiler gets the changed file as an
// overlay. The exit status is 1 if any mutation survives.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// unrelated matches tests that check the source, speed or waiting, not security.
const unrelated = "^Test(MailServerDown|SessionFloor|ExposeFloor|Arrows|Bans|HouseRules|Gallery)$"

func main() {
	only := flag.String("only", "", "run only mutations whose name contains this `text`")
	limit := flag.Duration("limit", 5*time.Minute, "`time` limit for the tests of one mutation")
	note := flag.Bool("note", false, "write into noticed.txt which test notices each mutation")
	jobs := flag.Int("jobs", 2, "number of `mutations` to try at once")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "mutate: takes no arguments; choose with -only TEXT")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	noticed, err := readNoticed()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	survivors, err := run(ctx, os.Stdout, noticed, *only, *limit, *jobs)
	if *note {
		err = errors.Join(err, writeNoticed(noticed))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

// run tries every requested mutation and counts the survivors. It updates noticed.
func run(ctx context.Context, out io.Writer, noticed map[string]string, only string, limit time.Duration, jobs int) (survivors int, err error) {
	var mu sync.Mutex
	var broken []error
	tried, first := 0, maps.Clone(noticed)
	report := func(m mutation, took time.Duration, by string, err error) {
		mu.Lock()
		defer mu.Unlock()
		tried++
		noticed[m.name] = by
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
			by, err := m.try(ctx, first[m.name], limit)
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

// try runs the tests without the check. It returns the first test that fails, or "".
// It starts with the test first, unless that is "".
func (m mutation) try(ctx context.Context, first string, limit time.Duration) (by string, err error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	file, overlay, err := m.overlay(dir)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	runs := [][]string{{m.pkg}}
	if near := nearTests(file); near != "" && m.pkg == "./"+m.dir { // the likeliest tests to notice
		runs = [][]string{{"-gcflags=-N -l", "-run", near, m.pkg}, {m.pkg}}
	}
	if name, _, _ := strings.Cut(first, "/"); strings.HasPrefix(name, "Test") {
		runs = slices.Insert(runs, 0, []string{"-gcflags=-N -l", "-run", "^" + name + "$", m.pkg})
	}
	if strings.HasPrefix(m.pkg, "./engine") { // these tests attack the engine
		runs = append(runs, []string{"./verify"})
	}
	for _, run := range runs {
		cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-overlay", overlay, "-count=1", "-failfast", "-vet=off", "-skip", unrelated}, run...)...) // #nosec G204 -- of the table
		cmd.WaitDelay = 5 * time.Second
		raw, err := cmd.CombinedOutput()
		if by, err := verdict(ctx, string(raw), err); by != "" || err != nil {
			return by, err
		}
	}
	return "", nil
}

const noticedFile = "internal/tools/mutate/noticed.txt"

// readNoticed returns the test that noticed each mutation last, by the mutation's
// name.
func readNoticed() (map[string]string, error) {
	raw, err := os.ReadFile(noticedFile)
	if err != nil {
		return nil, err
	}
	noticed := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		if name, test, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			noticed[name] = test
		}
	}
	return noticed, nil
}

func writeNoticed(noticed map[string]string) error {
	var b strings.Builder
	for _, m := range mutations {
		if test := noticed[m.name]; strings.HasPrefix(test, "Test") {
			fmt.Fprintf(&b, "%s %s\n", m.name, test)
		}
	}
	return os.WriteFile(noticedFile, []byte(b.String()), 0o600)
}

var testFunction = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// nearTests returns a pattern of the tests in the files next to file whose names
// begin with the same word, such as site_cookie_test.go for site_body.go. It returns
// "" if there are none.
func nearTests(file string) string {
	word, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), "_")
	files, err := filepath.Glob(filepath.Join(filepath.Dir(file), word+"*_test.go"))
	if err != nil {
		return ""
	}
	var names []string
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			return ""
		}
		for _, found := range testFunction.FindAllSubmatch(raw, -1) {
			names = append(names, string(found[1]))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// verdict reads the output of go test.
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

// firstFailure returns the name of the first failed test.
func firstFailure(out string) string {
	for line := range strings.Lines(out) {
		if _, rest, ok := strings.Cut(line, "--- FAIL: "); ok {
			name, _, _ := strings.Cut(rest, " ")
			return strings.TrimSpace(name)
		}
	}
	return "a failure outside of tests"
}
