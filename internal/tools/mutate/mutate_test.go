package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTable checks every mutation against the source, so that the table stays valid
// between the long runs.
func TestTable(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, m := range mutations {
		if names[m.name] {
			t.Errorf("%s: two mutations have this name", m.name)
		}
		names[m.name] = true
		m.dir = filepath.Join("..", "..", "..", m.dir)
		if _, _, err := m.apply(); err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
	}
	raw, err := os.ReadFile("noticed.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if name, test, ok := strings.Cut(strings.TrimSpace(line), " "); !ok || !names[name] || !isTest(test) {
			t.Errorf("noticed.txt: %q is not a mutation and a test", line)
		}
	}
	if len(mutations) < 100 {
		t.Errorf("%d mutations, want at least 100", len(mutations))
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, source, want string
		ok                 bool
	}{
		{"once", "a check b", "a nothing b", true},
		{"gone", "a b", "", false},
		{"twice", "check check", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, got, err := mutation{dir: holding(t, tt.source), find: "check", replacement: "nothing"}.apply()
			if got != tt.want || (err == nil) != tt.ok {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
	if _, _, err := (mutation{dir: holding(t, "check"), find: "check", replacement: "check"}).apply(); err == nil {
		t.Error("a mutation that changes nothing was applied")
	}
}

// holding returns a package of two files, one with this source.
func holding(t *testing.T, source string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{"x.go": source, "y.go": "nothing", "x_test.go": "check"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	failed := exec.CommandContext(t.Context(), "go", "no-such-command").Run()
	over, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	for _, tt := range []struct {
		name, out, by string
		ctx           context.Context
		failed        error
		ok            bool
	}{
		{"survived", "ok  \tauthsvc", "", t.Context(), nil, true},
		{"killed", "=== RUN\n--- FAIL: TestX (0.00s)\n    --- FAIL: TestX/y (0.00s)\n--- FAIL: TestZ (0.00s)\nFAIL", "TestX/y", t.Context(), failed, true},
		{"panicked", "panic: boom", "a failure outside of tests", t.Context(), failed, true},
		{"hangs", "", "the time limit: the tests hang", over, failed, true},
		{"does not compile", "FAIL\tauthsvc [build failed]", "", t.Context(), failed, false},
		{"has no tests", "?   \tauthsvc [no test files]", "", t.Context(), nil, false},
		{"no go command", "", "", t.Context(), errors.New("not found"), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			by, err := verdict(tt.ctx, tt.out, tt.failed)
			if by != tt.by || (err == nil) != tt.ok {
				t.Errorf("got %q, %v; want %q", by, err, tt.by)
			}
		})
	}
}

// TestNearTests checks that the tests come from files that begin with the same word.
func TestNearTests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"site_a.go": "", "site_b_test.go": "func TestB(t *testing.T) {\n", "site_test.go": "x\nfunc TestA(t *testing.T) {\nfunc help() {}\n", "desk_test.go": "func TestC(t *testing.T) {\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{"site_a.go": "^(TestB|TestA)$", "desk.go": "^(TestC)$", "room.go": "", "desk_x.lua": "^(TestC)$"} {
		if got := nearTests(filepath.Join(dir, file)); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

// TestOverlay checks that the source stays unchanged.
func TestOverlay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "x.go")
	if err := os.WriteFile(file, []byte("check"), 0o600); err != nil {
		t.Fatal(err)
	}
	of, path, err := mutation{dir: dir, find: "check", replacement: "nothing"}.overlay(t.TempDir())
	if err != nil || of.file != file {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(raw), file) {
		t.Errorf("overlay %s, %v", raw, err)
	}
	if source, err := os.ReadFile(file); err != nil || string(source) != "check" {
		t.Errorf("the source is %q, %v", source, err)
	}
}

// TestCoverage checks that the tests that run a line come in order of their size.
func TestCoverage(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "profile")
	if err := os.WriteFile(name, []byte("mode: set\nauthsvc/engine/x.go:3.2,5.9 2 1\nauthsvc/engine/x.go:6.1,7.3 1 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	small, err := readProfile(name)
	if err != nil || small.Blocks != 1 {
		t.Fatalf("%+v, %v", small, err)
	}
	small.Pkg, small.Run = "engine", "^TestSmall$"
	large := covered{Pkg: "engine", Run: "^TestLarge$", Blocks: 9, Lines: map[string][]span{"engine/x.go": {{1, 9}}}}
	c := coverage{large, {Pkg: "verify", Run: "^TestVerify$/^a$", Lines: large.Lines}, small}
	for lines, want := range map[span]string{{5, 5}: "(^TestSmall$|^TestLarge$)", {6, 7}: "(^TestLarge$)", {2, 3}: "(^TestSmall$|^TestLarge$)", {10, 11}: ""} {
		if got := either(c.of("engine", "engine/x.go", lines)); got != want {
			t.Errorf("%v: %q, want %q", lines, got, want)
		}
	}
	if got := either([]string{"^TestVerify$/^a$", "^TestVerify$/^b$"}); got != "(^TestVerify$)/(^a$|^b$)" {
		t.Error(got)
	}
}

// TestPlace checks that the lines are those that differ.
func TestPlace(t *testing.T) {
	t.Parallel()
	m := mutation{find: "if a {\n\tif b {\n", replacement: "if a {\n\tif false {\n"}
	if got := m.place("package x\n\nif a {\n\tif b {\n"); got != (span{4, 4}) {
		t.Error(got)
	}
}

func TestHint(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"TestX": "^TestX$", "TestX/a/b": "^TestX$", "TestVerify/jwt/03": "^TestVerify$/^jwt$", "TestVerify": "", "a failure outside of tests": "", "": ""} {
		if got := hint(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
