package webdriver

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// program is the path of the first that is there.
func program(t testing.TB, names []string) string {
	t.Helper()
	for _, name := range names {
		if p, err := exec.LookPath(name); err == nil {
			return p
		}
	}
	t.Fatalf("%s is not in the PATH", strings.Join(names, " or "))
	return ""
}

// scratch is a directory that goes when t ends. Not t.TempDir: a browser that
// is ending may still write, which must not fail the test.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "authsvc-webdriver-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// run starts a program, whose home is dir, and ends it and all that it has
// started with t.
func run(t testing.TB, cmd *exec.Cmd, dir string) {
	t.Helper()
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, "HOME="+dir, "XDG_RUNTIME_DIR="+dir, "XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir)
	lead(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	t.Cleanup(func() {
		end(cmd, false)
		select {
		case <-done:
		case <-time.After(5 * time.Second):
		}
		end(cmd, true)
		<-done
	})
}
