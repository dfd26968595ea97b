package sqlite

import (
	"database/sql"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// asNobody runs f without the rights of root: the kernel applies the user of the thread
// to what the thread opens.
func asNobody(t *testing.T, f func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		f()
		return
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		err := syscall.Setfsuid(65534)
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// TestAdvice checks that an error of Open says what to do about its own cause, and about
// no other.
func TestAdvice(t *testing.T) {
	t.Parallel()
	file := migrated(t, Options{})
	database := func(t *testing.T, dir string) {
		if err := os.WriteFile(filepath.Join(dir, "auth.db"), file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	chmod := func(t *testing.T, name string, mode os.FileMode) {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	advices := []string{"does not exist: create it", "may not create files in the folder", "may not read and write", "may not look into the folder", "is not a folder",
		"is a folder: name a file in it", "has locked the database", "there is no room left", "mounted read-only", "is not a SQLite database"}
	for name, tt := range map[string]struct {
		prepare func(t *testing.T, dir string)
		path    string // default: auth.db
		want    string // one of advices
	}{
		"no folder":           {path: "missing/auth.db", want: "does not exist: create it"},
		"folder is read-only": {prepare: func(t *testing.T, dir string) { chmod(t, dir, 0o555) }, want: "may not create files in the folder"},
		"folder of the log is read-only": {prepare: func(t *testing.T, dir string) {
			database(t, dir)
			chmod(t, filepath.Join(dir, "auth.db"), 0o666) // #nosec G302 -- so that only the folder is the cause
			chmod(t, dir, 0o555)
		}, want: "may not create files in the folder"},
		"folder is closed": {prepare: func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "closed"), 0o700); err != nil {
				t.Fatal(err)
			}
			chmod(t, filepath.Join(dir, "closed"), 0)
		}, path: "closed/in/auth.db", want: "may not look into the folder"},
		"file is another user's": {prepare: func(t *testing.T, dir string) { database(t, dir); chmod(t, filepath.Join(dir, "auth.db"), 0) }, want: "may not read and write"},
		"below a file":           {prepare: database, path: "auth.db/auth.db", want: "is not a folder"},
		"a folder": {prepare: func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "auth.db"), 0o777); err != nil { // #nosec G301 -- so that only its kind is the cause
				t.Fatal(err)
			}
		}, want: "is a folder: name a file in it"},
		"not a database": {prepare: func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "auth.db"), []byte("hello, this is not a database at all"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, want: "is not a SQLite database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, at := range []string{filepath.Dir(dir), dir} {
				chmod(t, at, 0o777) // #nosec G302 -- another user must get there
			}
			if tt.prepare != nil {
				tt.prepare(t, dir)
			}
			if os.Geteuid() == 0 {
				giveAway(t, dir)
			}
			t.Cleanup(func() { os.Chmod(dir, 0o700) }) //nolint:errcheck // removing it fails then
			path := tt.path
			if path == "" {
				path = "auth.db"
			}
			asNobody(t, func() { adviceIs(t, filepath.Join(dir, path), tt.want, advices) })
		})
	}
}

// TestAdviceOfAllFiles checks that one error names all files whose permissions are
// wrong, and the folder.
func TestAdviceOfAllFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "auth.db")
	for name, mode := range map[string]os.FileMode{path: 0o004, path + "-wal": 0, path + "-shm": 0o600} { // #nosec G302 -- the cause
		if err := os.WriteFile(name, migrated(t, Options{}), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	for at, mode := range map[string]os.FileMode{filepath.Dir(dir): 0o755, dir: 0o555} { // #nosec G302 -- another user must get there
		if err := os.Chmod(at, mode); err != nil {
			t.Fatal(err)
		}
	}
	if os.Geteuid() == 0 {
		giveAway(t, dir)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o700) }) //nolint:errcheck // removing it fails then
	denied := "this user may not read and write " + path + ", " + path + "-wal: change their owner or mode"
	asNobody(t, func() {
		for private, want := range map[bool]string{
			false: denied + "; this user may not create files in the folder " + dir + ", which also holds the log of the database: change its owner or mode",
			true:  "chmod o-rwx " + path + "; " + denied,
		} {
			s, err := Open(t.Context(), path, Options{Private: private})
			if err == nil {
				s.Close()
				t.Errorf("opened with private %t", private)
			} else if !strings.HasSuffix(err.Error(), want) {
				t.Errorf("private %t: %v; want %q", private, err, want)
			}
		}
	})
}

// giveAway makes the user 65534 the owner of the files, but not of the folder itself, in a
// folder.
func giveAway(t *testing.T, dir string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Lchown(filepath.Join(dir, f.Name()), 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
}

// adviceIs opens a store, which must fail with one advice and no other.
func adviceIs(t *testing.T, path, want string, advices []string) {
	t.Helper()
	s, err := Open(t.Context(), path, Options{Migrate: true})
	if err == nil {
		s.Close()
		t.Errorf("opened %s", path)
		return
	}
	for _, advice := range advices {
		if strings.Contains(err.Error(), advice) != (advice == want) {
			t.Errorf("the error is %v; want %q", err, want)
			return
		}
	}
}

// TestAdviceOfDisk checks the errors of a disk that is full, or that must not be written.
func TestAdviceOfDisk(t *testing.T) {
	t.Parallel()
	advices := []string{"does not exist", "may not", "has locked the database", "there is no room left", "mounted read-only"}
	mount := func(t *testing.T, flags uintptr, size string) string {
		dir := t.TempDir()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, size); err != nil {
			t.Logf("mounting is not permitted here, so TestDiskFull alone fills a disk: %v", err)
			return ""
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, 0); err != nil {
				t.Error(err)
			}
		})
		return dir
	}
	t.Run("full", func(t *testing.T) {
		t.Parallel()
		dir := mount(t, 0, "size=64k")
		if dir == "" {
			return
		}
		if err := os.WriteFile(filepath.Join(dir, "ballast"), make([]byte, 60<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		adviceIs(t, filepath.Join(dir, "auth.db"), "there is no room left", advices)
	})
	t.Run("read-only", func(t *testing.T) {
		t.Parallel()
		dir := mount(t, syscall.MS_RDONLY, "")
		if dir == "" {
			return
		}
		adviceIs(t, filepath.Join(dir, "auth.db"), "mounted read-only", advices)
	})
}

// TestAdviceOfLock checks the error while another program holds the lock of the file.
func TestAdviceOfLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "auth.db")
	if err := os.WriteFile(path, migrated(t, Options{}), 0o600); err != nil {
		t.Fatal(err)
	}
	other, err := sql.Open("sqlite", "file:"+path+"?_pragma=locking_mode(exclusive)")
	if err != nil {
		t.Fatal(err)
	}
	other.SetMaxOpenConns(1)
	if _, err := other.ExecContext(t.Context(), `CREATE TABLE held (x)`); err != nil {
		t.Fatal(err)
	}
	adviceIs(t, path, "has locked the database", []string{"may not", "has locked the database", "is not a folder"})
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}
