// Package e2e tests authsvc with the clients that it is made for: the packages
// next-auth and @auth/core, React, and a real browser. Everything runs on loopback
// and, except for Node and Chromium, in this process.
//
// The tests need both tools and one `npm ci`, so they run only on request:
//
//	AUTHSVC_E2E=1 go test ./e2e
//
// With AUTHSVC_SCREENSHOTS=DIR, they also write a picture of every page to DIR.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"authsvc/internal/test/npm"
)

// requested skips the test unless the run was requested, and explains how to request
// it.
func requested(t *testing.T, tool string) {
	t.Helper()
	if os.Getenv("AUTHSVC_E2E") != "1" {
		t.Skipf("needs %s; to run it, set AUTHSVC_E2E=1 and install Node 20 or newer with npm, and Chromium", tool)
	}
	if testing.Short() {
		t.Skip("-short skips tests that start other programs")
	}
}

// webDir holds the npm project.
const webDir = "web"

// packages installs the packages of the web project.
var packages = sync.OnceValue(func() error { return npm.Install(webDir) })

// needNode makes Node and the npm packages available, or skips the test.
func needNode(t *testing.T) {
	t.Helper()
	requested(t, "Node")
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("AUTHSVC_E2E=1 needs %s in the PATH: %v", tool, err)
		}
	}
	if err := packages(); err != nil {
		t.Fatal(err)
	}
}

// A call requests one answer of a library from web/interop.mjs.
type call struct {
	Lib    string         `json:"lib"` // "v4": next-auth@4, "v5": @auth/core
	Op     string         `json:"op"`
	Claims map[string]any `json:"claims,omitempty"`
	Secret any            `json:"secret"` // a string; with v5 also a list
	Salt   string         `json:"salt,omitempty"`
	Token  string         `json:"token,omitempty"`
	Body   string         `json:"body,omitempty"`
	// Name and Secure describe the session cookie; Cookies belong to the request.
	Name    string            `json:"name,omitempty"`
	Secure  bool              `json:"secure,omitempty"`
	Cookies map[string]string `json:"cookies,omitempty"`
}

// ask runs the calls in one Node process and returns their answers.
func ask[T any](t *testing.T, calls ...call) []T {
	t.Helper()
	in, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "interop.mjs")
	cmd.Dir, cmd.Stdin = webDir, bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
			t.Fatalf("interop.mjs: %v\n%s", err, failed.Stderr)
		}
		t.Fatal(err)
	}
	var answers []T
	if err := json.Unmarshal(out, &answers); err != nil || len(answers) != len(calls) {
		t.Fatalf("interop.mjs answered %d for %d: %v\n%s", len(answers), len(calls), err, out)
	}
	return answers
}

// tsc compiles a directory and returns the compiler's output.
func tsc(t *testing.T, dir string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join("node_modules", ".bin", "tsc"), "--pretty", "false")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return string(out), err
}
