package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, errs.Bytes())
	}
	return out, nil
}

// walks answers one request of each kind, and counts the files of the engine of
// which something ran.
func walks(ctx context.Context, dir string) ([]figure, error) {
	work, err := os.MkdirTemp("", "measure")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work) //nolint:errcheck // a temporary directory
	walk := filepath.Join(work, "walk")
	const from = module + "/internal/tools/measure/walk"
	if _, err := goCommand(ctx, dir, "build", "-cover", "-covermode=atomic", "-coverpkg="+module+"/engine,"+from, "-o", walk, from); err != nil {
		return nil, err
	}
	var list []figure
	for _, request := range []string{"callback", "session"} {
		data, text := filepath.Join(work, request), filepath.Join(work, request+".txt")
		if err := os.Mkdir(data, 0o700); err != nil {
			return nil, err
		}
		run := exec.CommandContext(ctx, walk, request, data)
		run.Env = append(run.Environ(), "GOCOVERDIR="+work)
		if out, err := run.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w\n%s", err, out)
		}
		if _, err := goCommand(ctx, dir, "tool", "covdata", "textfmt", "-i="+data, "-o="+text); err != nil {
			return nil, err
		}
		raw, err := os.ReadFile(text)
		if err != nil {
			return nil, err
		}
		files := walked(string(raw))
		list = append(list, figure{"files of the engine that GET /" + request + " runs", len(files), strings.Join(files, " ")})
	}
	return list, nil
}

// walked reads coverage: FILE:POSITION STATEMENTS COUNT.
func walked(profile string) (files []string) {
	for line := range strings.Lines(profile) {
		file, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasSuffix(rest, " 0") || filepath.Dir(file) != module+"/engine" {
			continue
		}
		files = append(files, strings.TrimSuffix(filepath.Base(file), ".go"))
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// embedder makes a module that uses the engine and the providers, and counts
// what it has to trust.
func embedder(ctx context.Context, dir string) ([]figure, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	work, err := os.MkdirTemp("", "embedder")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work) //nolint:errcheck // a temporary directory
	for name, text := range map[string]string{
		"go.mod":  fmt.Sprintf("module embedder\n\ngo 1.26.0\n\nrequire %[1]s v0.0.0\n\nreplace %[1]s => %[2]s\n", module, dir),
		"main.go": fmt.Sprintf("package main\n\nimport (\n\t_ %q\n\t_ %q\n)\n\nfunc main() {}\n", module+"/engine", module+"/provider"),
	} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	if _, err := goCommand(ctx, work, "mod", "tidy"); err != nil {
		return nil, err
	}
	sums, err := os.ReadFile(filepath.Join(work, "go.sum"))
	if err != nil {
		return nil, err
	}
	modules := map[string]bool{}
	for line := range strings.Lines(string(sums)) {
		modules[strings.Fields(line)[0]] = true
	}
	return []figure{{"lines of go.sum of a program that embeds the engine", bytes.Count(sums, []byte("\n")), fmt.Sprintf("%d modules", len(modules))}}, nil
}

// support counts what tests share at more than one address.
func support(_ context.Context, dir string) ([]figure, error) {
	jars := map[string]int{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.Contains(path, filepath.Join("tools", "measure")) {
			return nil
		}
		source, err := os.ReadFile(path)
		if n := bytes.Count(source, []byte("cookiejar.New(")); n > 0 {
			jars[path] += n
		}
		return err
	})
	return []figure{{"HTTP clients of tests with a cookie jar", sum(jars), places(jars)}}, err
}
