//go:build rehome

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// TestCopy moves a clone of this repository to a path with a host, builds and checks it
// there, and installs the program from a module proxy as another machine would.
func TestCopy(t *testing.T) {
	t.Parallel()
	const path = "git.example.org/team/authsvc"
	dir := filepath.Join(t.TempDir(), "clone")
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	git(t, ".", "clone", "-q", root, dir)
	var out strings.Builder
	if err := run(t.Context(), &out, dir, []string{path}); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())
	if unformatted := command(t, dir, nil, "gofmt", "-l", "."); unformatted != "" {
		t.Errorf("gofmt would change:\n%s", unformatted)
	}
	command(t, dir, nil, "go", "build", "./cmd/authsvc")
	command(t, dir, nil, "go", "vet", ".", "./engine", "./provider", "./cmd/authsvc", "./examples/embed")
	command(t, filepath.Join(dir, "bench"), nil, "go", "vet", "./...")
	command(t, filepath.Join(dir, "examples", "routers"), nil, "go", "vet", "./...")
	command(t, filepath.Join(dir, "tools", "openapi"), nil, "go", "vet", "./...")
	commit(t, dir)
	// The tests that know the module's path, or compare code with documentation.
	command(t, dir, nil, "go", "test", ".", "./internal/tools/house", "./internal/tools/rehome", "./internal/tools/mutate", "./cmd/authsvc/internal/config", "./internal/seal")

	move := func(to string) string {
		t.Helper()
		if err := run(t.Context(), &out, dir, []string{to}); err != nil {
			t.Fatal(err)
		}
		return git(t, dir, "status", "--porcelain")
	}
	if changes := move(path); changes != "" {
		t.Errorf("the second run changed files:\n%s", changes)
	}
	if move("code.example.net/sign/in") == "" {
		t.Error("a move to another place changed nothing")
	}
	command(t, dir, nil, "go", "build", "./cmd/authsvc")
	commit(t, dir)
	move(path)
	commit(t, dir)
	if differ := git(t, dir, "diff", "--stat", "HEAD~2"); differ != "" {
		t.Errorf("there and back differ:\n%s", differ)
	}

	proxy := publish(t, dir, module.Version{Path: path, Version: "v0.1.0"})
	bin := t.TempDir()
	cached := strings.TrimSpace(command(t, dir, nil, "go", "env", "GOMODCACHE"))
	// The other modules come from this machine's cache, which go.sum has verified.
	env := []string{"GOPROXY=file://" + proxy + ",file://" + filepath.Join(cached, "cache", "download"), "GOMODCACHE=" + t.TempDir(), "GOBIN=" + bin,
		"GOSUMDB=off", "GOFLAGS=-modcacherw", "GOTOOLCHAIN=local"}
	command(t, t.TempDir(), env, "go", "install", path+"/cmd/authsvc@v0.1.0")
	said := command(t, bin, nil, filepath.Join(bin, "authsvc"), "version")
	if !strings.HasPrefix(said, "authsvc v0.1.0\n") {
		t.Errorf("the installed program says %q", said)
	}
}

// command runs a command, which must succeed, and returns its standard output.
func command(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	var errors bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stderr, cmd.Env = dir, &errors, append(os.Environ(), env...)
	begun := time.Now()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s%s", name, args, err, out, errors.Bytes())
	}
	t.Logf("%s %s: %v", name, strings.Join(args, " "), time.Since(begun).Round(time.Second))
	return string(out)
}

// publish writes a version of the module in dir to a new folder, as a module proxy
// serves it.
func publish(t *testing.T, dir string, m module.Version) string {
	t.Helper()
	proxy := t.TempDir()
	versions := filepath.Join(proxy, filepath.FromSlash(m.Path), "@v")
	if err := os.MkdirAll(versions, 0o755); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := zip.CreateFromVCS(&archive, m, dir, "HEAD", ""); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	info, err := json.Marshal(map[string]any{"Version": m.Version, "Time": time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"list": []byte(m.Version + "\n"), m.Version + ".info": info, m.Version + ".mod": mod, m.Version + ".zip": archive.Bytes()} {
		if err := os.WriteFile(filepath.Join(versions, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return proxy
}
