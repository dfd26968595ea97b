package inbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func emlFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.eml*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestNewestAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st, err := Open(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxKept + 5 {
		if err := st.Add("a@x", []string{"b@x"}, fmt.Sprintf("Subject: %d\r\n\r\nx", i)); err != nil {
			t.Fatal(err)
		}
	}
	list := st.list()
	if len(list) != maxKept || list[0].Subject != "5" || list[maxKept-1].Subject != fmt.Sprint(maxKept+4) {
		t.Errorf("kept %d, from %q", len(list), list[0].Subject)
	}
	if n := len(emlFiles(t, dir)); n != maxKept {
		t.Errorf("%d files", n)
	}
	st.Close()
	if err := st.Add("a@x", nil, "late"); !errors.Is(err, ErrClosed) {
		t.Errorf("add after close: %v", err)
	}
}

func TestBytesAreBounded(t *testing.T) {
	t.Parallel()
	st, err := Open("", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		st.keep(Message{Raw: strings.Repeat("x", maxKeptBytes/2)})
	}
	if err := st.trim(); err != nil || len(st.messages) != 2 || st.bytes != maxKeptBytes {
		t.Errorf("%d mails of %d bytes: %v", len(st.messages), st.bytes, err)
	}
}
