package sqlite

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"authsvc/internal/sql/sqladapter"
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

// TestKeepsLock checks that Open leaves the locks that other stores of the process hold
// on the same file. Without them, another process that closes the file would remove the
// log, and with it acknowledged writes.
func TestKeepsLock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prepare func(t *testing.T, path string) (second string)
		want    string // the error, "" if the file opens
	}{
		"the same name":   {func(_ *testing.T, path string) string { return path }, ""},
		"a symbolic link": {func(t *testing.T, path string) string { return linked(t, os.Symlink, path) }, ""},
		"a hard link":     {func(t *testing.T, path string) string { return linked(t, os.Link, path) }, "has 2 names"},
		"open to all": {func(t *testing.T, path string) string {
			if err := os.Chmod(path, 0o644); err != nil { // #nosec G302 -- so that it is refused
				t.Fatal(err)
			}
			return path
		}, "every user of this machine"},
		"not a database any more": {func(t *testing.T, path string) string {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				_, err = f.WriteString("users: none yet\n")
			}
			if err != nil {
				t.Fatal(err)
			}
			closeAtEnd(t, f)
			return path
		}, "is not a SQLite database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "auth.db")
			if err := os.WriteFile(path, migrated(t, Options{}), 0o600); err != nil {
				t.Fatal(err)
			}
			// Closing a descriptor of the file would itself end the locks.
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			closeAtEnd(t, f)
			if sharedLock(t, f) {
				t.Fatal("the file is locked before it is opened")
			}
			opened(t, path, Options{}, sqladapter.TestHooks{})
			if !sharedLock(t, f) {
				t.Fatal("an open store holds no lock")
			}
			s, err := Open(t.Context(), c.prepare(t, path), Options{Private: true})
			if err == nil {
				if !sharedLock(t, f) {
					t.Error("opening the file again ended the lock")
				}
				err = s.Close()
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("the error is %v, want %q", err, c.want)
			}
			if !sharedLock(t, f) {
				t.Error("after a second store, the first one holds no lock")
			}
		})
	}
}

// closeAtEnd closes a file after the stores that the test opens later.
func closeAtEnd(t *testing.T, f io.Closer) {
	t.Helper()
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

// linked makes a second name of a file in the same folder.
func linked(t *testing.T, link func(from, to string) error, path string) string {
	t.Helper()
	second := filepath.Join(filepath.Dir(path), "second.db")
	if err := link(path, second); err != nil {
		t.Fatal(err)
	}
	return second
}

// sharedLock reports whether a connection of SQLite holds the shared lock of a file. A
// lock of an open file description conflicts with the locks of every process, including
// this one, so the answer is the one that another process gets.
func sharedLock(t *testing.T, f *os.File) bool {
	t.Helper()
	const sharedFirst, sharedSize = 0x40000002, 510 // https://www.sqlite.org/src/file/src/os.h
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: sharedFirst, Len: sharedSize}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil {
		t.Fatal(err)
	}
	return lock.Type != unix.F_UNLCK
}
