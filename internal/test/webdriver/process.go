package webdriver

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// program returns the path of the first installed program.
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

// scratch returns a directory that is removed when t ends. It does not use t.TempDir:
// a browser may still write while it ends, which must not fail the test.
func scratch(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "authsvc-webdriver-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// run starts a program with dir as its home. When t ends, it ends the program and its
// children.
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
