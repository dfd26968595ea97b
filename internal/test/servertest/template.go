package servertest

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
)

// dataName names the data directory within a server's directory.
const dataName = "data"

// A template is a data directory made by the server's own tool, which takes seconds.
// Each process makes it once and keeps it in memory (about 40 MB), because a file
// would outlive the process.
type template struct {
	once  sync.Once
	files fstest.MapFS
	err   error
}

// copyTo writes the data directory to data.
func (m *template) copyTo(t testing.TB, data string, a *account, initialise func(data string) error) {
	t.Helper()
	m.once.Do(func() { m.files, m.err = remember(a, initialise) })
	if m.err != nil {
		t.Fatalf("initialise a data directory: %v", m.err)
	}
	if err := os.CopyFS(data, m.files); err != nil {
		t.Fatal(err)
	}
	// PostgreSQL requires this mode.
	if err := os.Chmod(data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := chown(data, a); err != nil {
		t.Fatal(err)
	}
}

func remember(a *account, initialise func(data string) error) (fstest.MapFS, error) {
	dir, err := newDir(a)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	data := filepath.Join(dir, dataName)
	if err := initialise(data); err != nil {
		return nil, err
	}
	files := fstest.MapFS{}
	err = filepath.WalkDir(data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(data, path)
		if err != nil || name == "." {
			return err
		}
		if d.IsDir() {
			files[filepath.ToSlash(name)] = &fstest.MapFile{Mode: fs.ModeDir | 0o700}
			return nil
		}
		content, err := os.ReadFile(path)
		files[filepath.ToSlash(name)] = &fstest.MapFile{Data: content, Mode: 0o600}
		return err
	})
	return files, err
}

// newDir makes a directory that the account can use. Directories of package testing
// and their parents belong to the user who runs the test.
func newDir(a *account) (string, error) {
	dir, err := os.MkdirTemp("", "authsvc-server-")
	if err != nil {
		return "", err
	}
	return dir, chown(dir, a)
}
