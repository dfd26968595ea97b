//go:build unix

package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"authsvc/internal/test/sqltest"
)

// TestRefusesNames checks that Open refuses a database with a second name and leaves it
// unchanged: another process would look for another log under that name. A symbolic
// link does not count as a name.
func TestRefusesNames(t *testing.T) {
	t.Parallel()
	file := migrated(t, Options{})
	dir := t.TempDir()
	path, second, soft := filepath.Join(dir, "auth.db"), filepath.Join(dir, "second.db"), filepath.Join(t.TempDir(), "soft.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(path, second); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, soft); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, second, soft} {
		s, err := Open(t.Context(), name, Options{Migrate: true})
		if err == nil {
			s.Close()
			t.Fatalf("opened %s", name)
		}
		if !strings.Contains(err.Error(), "has 2 names") {
			t.Errorf("unclear error: %v", err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, file) {
		t.Errorf("the file was changed (%v)", err)
	}
	if err := os.Remove(second); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, soft} {
		s, err := Open(t.Context(), name, Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		sqltest.CloseAtEnd(t, s)
		if _, err := os.Stat(path + "-wal"); err != nil {
			t.Errorf("opened as %s: %v", name, err)
		}
	}
	if err := oneName(path, 1, true); err == nil || !strings.Contains(err.Error(), "mount the folder") {
		t.Errorf("mounted by itself: %v", err)
	}
	if err := oneName(path, 1, false); err != nil {
		t.Error(err)
	}
}

// TestExposed checks that a database that others can read causes a warning, and that
// one that everyone can read is refused if its tokens are stored in plain text.
func TestExposed(t *testing.T) {
	t.Parallel()
	file := migrated(t, Options{})
	for _, c := range []struct {
		name         string
		mode, log    os.FileMode
		warn, refuse bool
	}{
		{"owner only", 0o600, 0o600, false, false},
		{"group access", 0o660, 0o660, true, false},
		{"world-readable", 0o644, 0o600, true, true},
		{"world-writable", 0o602, 0o600, true, true},
		{"an empty world-readable log", 0o600, 0o644, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "auth.db")
			for name, mode := range map[string]os.FileMode{path: c.mode, path + "-wal": c.log} {
				if err := os.WriteFile(name, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(name, mode); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), path, Options{Private: true})
			if (err != nil) != c.refuse {
				t.Errorf("with Private: %v", err)
			}
			if err == nil {
				s.Close()
			} else if !strings.Contains(err.Error(), "chmod o-rwx "+path) {
				t.Errorf("unclear error: %v", err)
			}
			if s, err = Open(t.Context(), path, Options{}); err != nil {
				t.Fatal(err)
			}
			sqltest.CloseAtEnd(t, s)
			warnings, err := s.Warnings(t.Context())
			if err != nil || (len(warnings) > 0) != c.warn {
				t.Errorf("warnings %q, %v", warnings, err)
			}
		})
	}
}
