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
)

// buildSkewedBinary builds this program with a time.Now that is off by the
// duration in the variable SKEW. Linux gives no process a wall clock of its own:
// time namespaces do not cover it, and Go does not call libc for it.
func buildSkewedBinary(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(dir, "go") // go replaces no file below GOMODCACHE, where toolchains are
	if err := os.Symlink(strings.TrimSpace(string(out)), root); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root, "src", "time", "time.go")
	source, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const now = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {\n"
	if bytes.Count(source, []byte(now)) != 1 {
		t.Fatal("time.Now of this Go is written in another way")
	}
	files := map[string]string{
		name: strings.Replace(string(source), now, "\tsec, nsec, mono := runtimeNow()\n\tsec += skew\n\tif mono == 0 {\n", 1),
		filepath.Join(root, "src", "time", "skew.go"): `package time

import "syscall"

var skew = func() int64 {
	v, _ := syscall.Getenv("SKEW")
	d, _ := ParseDuration(v)
	return int64(d / Second)
}()
`}
	replace := map[string]string{}
	for place, text := range files {
		replace[place] = filepath.Join(dir, filepath.Base(place))
		if err := os.WriteFile(replace[place], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "authsvc")
	build := exec.CommandContext(t.Context(), filepath.Join(root, "bin", "go"), "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, ".")
	build.Env = append(os.Environ(), "GOROOT="+root, "GOTOOLCHAIN=local")
	begun := time.Now()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	t.Logf("built in %v", time.Since(begun).Round(time.Second))
	return binary
}
