// Command mutate removes one security check at a time from the source and runs the
// tests that must notice. If no test notices, the mutation survives: the check
// exists, but its loss would go unnoticed.
//
//	go run ./internal/tools/mutate                           # all, hours
//	go run ./internal/tools/mutate -cover out/coverage.json  # all, faster
//	go run ./internal/tools/mutate -only iss                 # those whose names contain "iss"
//	go run ./internal/tools/mutate -note                     # also writes noticed.txt
//
// Two files save time. noticed.txt holds, for each mutation, the test that noticed it
// last, which runs first. The file of -cover holds the lines that each test of the
// engine and of verify runs; tests that run the changed lines come next. Neither
// changes the result, because all other tests follow if these pass.
//
// The command does not change the tree: the compiler gets the changed file as an
// overlay. The exit status is 1 if any mutation survives.
package main

import (
	"cmp"
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
const unrelated = "^Test(Allocations|MailServerDown|SessionFloor|ExposeFloor|Arrows|Bans|HouseRules|Gallery)$"

func main() {
	only := flag.String("only", "", "run only the mutation of this name or, if there is none, those whose names contain this `text`")
	limit := flag.Duration("limit", 5*time.Minute, "`time` limit for the tests of one mutation")
	note := flag.Bool("note", false, "write into noticed.txt which test notices each mutation")
	jobs := flag.Int("jobs", 2, "number of `mutations` to try at once")
	cover := flag.String("cover", "", "`file` with the lines that each test runs; measured if it does not exist")
	fresh := flag.Bool("new", false, "try only mutations that noticed.txt does not name")
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
	t := trial{limit: *limit, noticed: noticed}
	if *cover != "" {
		if t.cover, err = coverageOf(ctx, *cover, *jobs); err != nil {
			fmt.Fprintln(os.Stderr, "mutate:", err)
			os.Exit(2)
		}
	}
	named := slices.ContainsFunc(mutations, func(m mutation) bool { return m.name == *only })
	list := slices.DeleteFunc(slices.Clone(mutations), func(m mutation) bool {
		return !strings.Contains(m.name, *only) || named && m.name != *only || *fresh && noticed[m.name] != ""
	})
	survivors, found, err := t.run(ctx, os.Stdout, list, *jobs)
	if *note {
		maps.Copy(noticed, found)
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

// A trial tries mutations.
type trial struct {
	limit   time.Duration     // of the tests of one mutation
	noticed map[string]string // by the mutation's name, the test that noticed it last
	cover   coverage          // may be nil
}

// run tries the mutations of a list. It counts the survivors, and returns which test
// noticed what.
func (t *trial) run(ctx context.Context, out io.Writer, list []mutation, jobs int) (survivors int, noticed map[string]string, err error) {
	if len(list) == 0 {
		return 0, nil, errors.New("no mutation has such a name")
	}
	var mu sync.Mutex
	var broken []error
	noticed = map[string]string{}
	report := func(m mutation, took time.Duration, by string, err error) {
		mu.Lock()
		defer mu.Unlock()
		verdict := "killed    by " + by
		switch {
		case err != nil:
			broken = append(broken, fmt.Errorf("%s: %w", m.name, err))
			return
		case by == "":
			survivors++
			verdict = "SURVIVED"
		}
		noticed[m.name] = by
		fmt.Fprintf(out, "%-32s %5.1fs  %s\n", m.name, took.Seconds(), verdict)
	}
	var all errgroup.Group
	all.SetLimit(jobs)
	for _, m := range list {
		all.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			begun := time.Now()
			by, err := t.try(ctx, m)
			report(m, time.Since(begun), by, err)
			return ctx.Err()
		})
	}
	if err := all.Wait(); err != nil {
		return survivors, noticed, err
	}
	fmt.Fprintf(out, "mutations: %d, survived: %d\n", len(list), survivors)
	return survivors, noticed, errors.Join(broken...)
}

// try runs the tests without a check. It returns the first test that fails, or "". It
// starts with the tests that probably notice.
func (t *trial) try(ctx context.Context, m mutation) (by string, err error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	c, overlay, err := m.overlay(dir)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, t.limit)
	defer cancel()
	first := hint(t.noticed[m.name])
	ofEngine := strings.HasPrefix(m.pkg, "./engine") // verify attacks the engine
	var runs [][]string
	switch near := nearTests(c.file); {
	case ofEngine && t.cover != nil:
		if by, err := t.tryCovered(ctx, dir, overlay, c, first); by != "" || err != nil {
			return by, err
		}
	case m.pkg == "./"+m.dir && near != "":
		runs = append(runs, []string{"-gcflags=-N -l", "-run", near, m.pkg})
		fallthrough
	default:
		if first != "" && !strings.HasPrefix(first, "^TestVerify$") {
			runs = slices.Insert(runs, 0, []string{"-gcflags=-N -l", "-run", first, m.pkg})
		}
	}
	runs = append(runs, []string{m.pkg})
	if ofEngine {
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

// tryCovered runs tests that run the changed lines.
func (t *trial) tryCovered(ctx context.Context, dir, overlay string, c change, first string) (by string, err error) {
	engine, verify := t.cover.of("engine", c.file, c.lines), t.cover.of("verify", c.file, c.lines)
	binaries := map[string]string{}
	for _, run := range []struct {
		pkg      string
		patterns []string
	}{
		{"engine", slices.DeleteFunc([]string{first}, func(s string) bool { return s == "" || strings.HasPrefix(s, "^TestVerify$") })},
		{"verify", slices.DeleteFunc([]string{first}, func(s string) bool { return !strings.HasPrefix(s, "^TestVerify$") })},
		{"engine", engine[:min(24, len(engine))]},
		{"verify", verify[:min(5, len(verify))]},
		{"engine", engine[min(24, len(engine)):]},
	} {
		if len(run.patterns) == 0 {
			continue
		}
		bin := binaries[run.pkg]
		if bin == "" {
			bin = filepath.Join(dir, run.pkg+".test")
			binaries[run.pkg] = bin
			if raw, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-gcflags=-N -l", "-o", bin, "./"+run.pkg).CombinedOutput(); err != nil { // #nosec G204 -- of the table
				return "", fmt.Errorf("it does not compile: %w\n%s", err, raw)
			}
		}
		raw, err := runBinary(ctx, bin, run.pkg, either(run.patterns))
		if err == nil {
			raw = "ok " + raw
		}
		if by, err := verdict(ctx, raw, err); by != "" || err != nil {
			return by, err
		}
	}
	return "", nil
}

// hint returns a -run pattern for the name of a test: the test, or the group of checks
// of verify. It returns "" for anything else.
func hint(name string) string {
	parts := strings.Split(name, "/")
	switch {
	case !isTest(name):
		return ""
	case parts[0] == "TestVerify" && len(parts) > 1:
		return "^TestVerify$/^" + parts[1] + "$"
	case parts[0] == "TestVerify":
		return ""
	}
	return "^" + parts[0] + "$"
}

// isTest reports whether name is a test or a fuzz target, not a failed build.
func isTest(name string) bool {
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Fuzz")
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
		if test := noticed[m.name]; isTest(test) {
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

// firstFailure returns the name of the first failed test, with its first failed
// subtests.
func firstFailure(out string) (name string) {
	for line := range strings.Lines(out) {
		if _, rest, ok := strings.Cut(line, "--- FAIL: "); ok {
			one, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
			if name != "" && !strings.HasPrefix(one, name+"/") {
				break
			}
			name = one
		}
	}
	return cmp.Or(name, "a failure outside of tests")
}
