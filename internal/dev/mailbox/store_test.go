package mailbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func emlFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.eml*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestRestart(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "mail")
	s := listen(t, Options{Dir: dir})
	mustPost(t, s, simple, "ann@example.com", `"odd, one"@example.com`)
	mustPost(t, s, "X-Mailbox-Envelope: {}\r\nSubject: imitation\r\n\r\nx\r\n")
	before := s.Messages()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, f := range emlFiles(t, dir) {
		if info, err := os.Stat(f); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v, want mode 0600", f, info.Mode(), err)
		}
	}
	// Files that are not ours stay; interrupted writes are removed.
	cut := filepath.Join(dir, "00000000000000ff.eml.tmp")
	for _, f := range []string{
		cut, filepath.Join(dir, "notes.eml"), filepath.Join(dir, "00000000000000aa.eml"),
	} {
		if err := os.WriteFile(f, []byte("damaged"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "00000000000000bb.eml")); err != nil {
		t.Fatal(err)
	}

	s = listen(t, Options{Dir: dir})
	if diff := cmp.Diff(before, s.Messages()); diff != "" {
		t.Errorf("after a restart (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(cut); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("temporary file: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "notes.eml")); err != nil {
		t.Errorf("a foreign file: %v", err)
	}
	mustPost(t, s, simple)
	if got := s.Messages(); len(got) != 3 || got[0].ID <= before[0].ID {
		t.Errorf("new mail is not the newest: %v", got)
	}
}
