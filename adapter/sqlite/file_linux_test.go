package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"authsvc/internal/test/sqltest"
)

func TestMountPoint(t *testing.T) {
	t.Parallel()
	plain := filepath.Join(t.TempDir(), "auth.db")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"/": true, "/proc": true, plain: false} {
		if is, known := isMountPoint(path); is != want || !known {
			t.Errorf("%s: %t, known %t", path, is, known)
		}
	}
}

// TestRefusesMountedFile mounts a file, where that is permitted. TestRefusesNames
// covers the check where it is not.
func TestRefusesMountedFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	outside, inside := filepath.Join(dir, "outside.db"), filepath.Join(dir, "inside.db")
	for _, path := range []string{outside, inside} {
		if err := os.WriteFile(path, migrated(t, Options{}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mount(outside, inside, "", syscall.MS_BIND, ""); err != nil {
		t.Logf("mounting is not permitted here: %v", err)
		return
	}
	defer syscall.Unmount(inside, 0) //nolint:errcheck // or the directory is not removed
	if s, err := Open(t.Context(), inside, Options{}); err == nil || !strings.Contains(err.Error(), "is mounted without its folder") {
		t.Errorf("opened (%v)", err)
		if err == nil {
			s.Close()
		}
	}
	s, err := Open(t.Context(), outside, Options{})
	if err != nil {
		t.Fatal(err)
	}
	sqltest.CloseAtEnd(t, s)
}
