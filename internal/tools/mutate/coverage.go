package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
)

// coverage says which tests of the engine and of verify run which lines.
type coverage []covered

// A covered is a test, or a group of checks, and the lines that it runs.
type covered struct {
	Pkg, Run string            // a package path from the module root; a -run pattern
	Blocks   int               // number of statement blocks that it runs
	Lines    map[string][]span // by file, from the module root
}

// A span is a range of lines.
type span struct{ From, To int }

// coverageOf returns the coverage of the tests of the engine and of verify. It reads it
// from a file if there is one, else it measures and writes it.
func coverageOf(ctx context.Context, file string, jobs int) (c coverage, err error) {
	if f, err := os.Open(file); err == nil { // #nosec G304 -- the caller's choice
		defer f.Close() //nolint:errcheck // only read
		return c, json.NewDecoder(f).Decode(&c)
	}
	for _, pkg := range []string{"engine", "verify"} {
		one, err := measure(ctx, pkg, jobs)
		if err != nil {
			return nil, err
		}
		c = append(c, one...)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	f, err := os.Create(file) // #nosec G304 -- the caller's choice
	if err != nil {
		return nil, err
	}
	return c, errors.Join(json.NewEncoder(f).Encode(c), f.Close())
}

// measure runs each test of a package alone.
func measure(ctx context.Context, pkg string, jobs int) (coverage, error) {
	dir, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	bin := filepath.Join(dir, "x.test")
	if raw, err := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-cover", "-coverpkg=./engine/...,./internal/...", "-o", bin, "./"+pkg).CombinedOutput(); err != nil { // #nosec G204 -- of this program
		return nil, fmt.Errorf("%s: %w\n%s", pkg, err, raw)
	}
	patterns, err := patternsOf(ctx, bin, pkg)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var all coverage
	var running errgroup.Group
	running.SetLimit(jobs)
	for i, pattern := range patterns {
		running.Go(func() error {
			profile := filepath.Join(dir, strconv.Itoa(i))
			if _, err := runBinary(ctx, bin, pkg, pattern, "-test.coverprofile="+profile); err != nil {
				return ctx.Err() // a test that fails or is skipped alone does not help
			}
			c, err := readProfile(profile)
			if err == nil {
				c.Pkg, c.Run = pkg, pattern
				mu.Lock()
				all = append(all, c)
				mu.Unlock()
			}
			return errors.Join(err, os.Remove(profile))
		})
	}
	err = running.Wait()
	return all, err
}

var groupRun = regexp.MustCompile(`(?m)^=== RUN +TestVerify/([\w-]+)$`)

// patternsOf returns a -run pattern for each test of a package, and for each group of
// checks of verify.
func patternsOf(ctx context.Context, bin, pkg string) (list []string, err error) {
	if pkg == "verify" {
		raw, err := runBinary(ctx, bin, pkg, "^TestVerify$", "-test.v", "-test.skip=^TestVerify$/./.") // of two -test.skip the last counts
		for _, m := range groupRun.FindAllStringSubmatch(raw, -1) {
			list = append(list, "^TestVerify$/^"+m[1]+"$")
		}
		return list, err
	}
	cmd := exec.CommandContext(ctx, bin, "-test.list=^(Test|Fuzz)") // #nosec G204 -- of this program
	cmd.Dir = pkg
	raw, err := cmd.Output()
	skip := regexp.MustCompile(unrelated)
	for name := range strings.Lines(string(raw)) {
		if name = strings.TrimSpace(name); !skip.MatchString(name) {
			list = append(list, "^"+name+"$")
		}
	}
	return list, err
}

// runBinary runs tests of a compiled package and returns the output.
func runBinary(ctx context.Context, bin, pkg, pattern string, args ...string) (string, error) {
	args = append([]string{"-test.run=" + pattern, "-test.timeout=5m", "-test.skip=" + unrelated}, args...)
	if pkg != "verify" { // its groups would run one after another
		args = append(args, "-test.failfast")
	}
	cmd := exec.CommandContext(ctx, bin, args...) // #nosec G204 -- of this program
	cmd.Dir = pkg
	raw, err := cmd.CombinedOutput()
	return string(raw), err
}

// readProfile reads the blocks that were run from a coverage profile.
func readProfile(name string) (c covered, err error) {
	f, err := os.Open(name) // #nosec G304 -- of this program
	if err != nil {
		return c, err
	}
	defer f.Close() //nolint:errcheck // only read
	c.Lines = map[string][]span{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		text := lines.Text()
		file, rest, ok := strings.Cut(text, ":")
		if !ok || file == "mode" || strings.HasSuffix(text, " 0") {
			continue
		}
		var s span
		var column int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.", &s.From, &column, &s.To); err != nil {
			return c, fmt.Errorf("%q: %w", text, err)
		}
		file = strings.TrimPrefix(file, "authsvc/")
		c.Blocks++
		c.Lines[file] = append(c.Lines[file], s)
	}
	return c, nil
}

// of returns the patterns of a package's tests that run one of the lines. The tests
// that run the least else come first.
func (c coverage) of(pkg, file string, lines span) (patterns []string) {
	var found []covered
	for _, t := range c {
		if t.Pkg == pkg && slices.ContainsFunc(t.Lines[file], func(s span) bool { return s.From <= lines.To && lines.From <= s.To }) {
			found = append(found, t)
		}
	}
	slices.SortFunc(found, func(a, b covered) int { return cmp.Or(a.Blocks-b.Blocks, strings.Compare(a.Run, b.Run)) })
	for _, t := range found {
		patterns = append(patterns, t.Run)
	}
	return patterns
}

// either joins patterns with the same number of elements.
func either(patterns []string) string {
	var levels [][]string
	for _, p := range patterns {
		for i, part := range strings.Split(p, "/") {
			if i == len(levels) {
				levels = append(levels, nil)
			}
			if !slices.Contains(levels[i], part) {
				levels[i] = append(levels[i], part)
			}
		}
	}
	var joined []string
	for _, level := range levels {
		joined = append(joined, "("+strings.Join(level, "|")+")")
	}
	return strings.Join(joined, "/")
}
