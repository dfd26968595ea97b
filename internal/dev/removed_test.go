package dev_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"authsvc/internal/dev"
	"authsvc/internal/test/logbuffer"
)

// TestRemovedFolder: if the folder of dev is removed while it runs, a failed sign-in says
// what to do.
func TestRemovedFolder(t *testing.T) {
	t.Parallel()
	dir, port, out := filepath.Join(t.TempDir(), "dev"), freePorts(t), &logbuffer.Buffer{}
	start(t, out, dev.Options{Dir: dir, Host: "localhost", Port: port, Out: out, Log: slog.New(slog.DiscardHandler)})
	v := visit(t, port)
	people := v.post("/api/auth/signin/dev", "callbackUrl", "/")
	if err := os.RemoveAll(dir); err != nil {
		t.Skip("this system does not remove open files: ", err)
	}
	v.choose(people, "Ada Lovelace")
	if want := "; the folder " + dir + " was removed; restart dev"; !strings.Contains(out.String(), want) {
		t.Errorf("printed\n%s\nwant %q", out, want)
	}
}
