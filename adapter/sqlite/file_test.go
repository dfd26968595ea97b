package sqlite

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"zombiezen.com/go/sqlite/sqlitex"

	"authsvc/adapter"
	"authsvc/internal/sql/sqladapter"
	"authsvc/internal/test/sqltest"
)

func TestParsePath(t *testing.T) {
	t.Parallel()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]string{
		"auth.db":            filepath.Join(here, "auth.db"),
		"./a/../auth.db":     filepath.Join(here, "auth.db"),
		"/var/lib/auth.db":   "/var/lib/auth.db",
		"odd ?#%41;&.db":     filepath.Join(here, "odd ?#%41;&.db"),
		"sqlite:auth.db":     filepath.Join(here, "auth.db"),
		"sqlite:/var/a.db":   "/var/a.db",
		"sqlite:///var/a.db": "/var/a.db",
		"":                   "",
		"sqlite:":            "",
		":memory:":           "",
		"sqlite::memory:":    "",
		"file:auth.db":       "",
		"sqlite://host/a.db": "",
		"sqlite:a.db?mode=x": "",
		"a\x00.db":           "",
	} {
		got, err := parsePath(location)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: got %q, %v; want %q", location, got, err, want)
		}
	}
}

// TestOddFileName checks that characters with a meaning in URIs are only part of the
// name.
func TestOddFileName(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a b?mode=memory#%41;&_foreign_keys=0'\".db")
	s, err := Open(t.Context(), path, Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	sqltest.CloseAtEnd(t, s)
	for _, name := range []string{path, path + "-wal"} {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "auth.db"), Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	sqltest.CloseAtEnd(t, s)
	durable := map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "5000"}
	for pragma, want := range durable {
		if got := sqltest.Query(t, s.db, "PRAGMA "+pragma); got[0] != want {
			t.Errorf("for the schema, %s is %s, want %s", pragma, got, want)
		}
	}
	for pool, settings := range map[*pool]map[string]string{
		s.writer: durable,
		s.reader: {"journal_mode": "wal", "query_only": "1", "busy_timeout": "5000", "mmap_size": "2147418112", "cache_size": "-2048"},
	} {
		conn, err := pool.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for pragma, want := range settings {
			got, err := sqlitex.ResultText(conn.Prep("PRAGMA " + pragma))
			if err != nil || got != want {
				t.Errorf("of %d connections, %s is %s, want %s (%v)", pool.size, pragma, got, want, err)
			}
		}
		pool.give(conn)
	}
	rows, err := s.reader.Query(t.Context(), &sqladapter.Statement{Text: `DELETE FROM authsvc_meta`}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if rows.Next() || rows.Err() == nil {
		t.Error("a reader can write")
	}
	if n := s.db.Stats().MaxOpenConnections; n != 1 {
		t.Errorf("%d writers", n)
	}
}

func TestFileMode(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "auth.db")
	s, err := Open(t.Context(), path, Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	sqltest.CloseAtEnd(t, s)
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", filepath.Base(name), info.Mode())
		}
	}
}

// TestRefusesFile checks that Open refuses a file that is not a healthy database and
// leaves it unchanged.
func TestRefusesFile(t *testing.T) {
	t.Parallel()
	good := filled(t)
	for name, c := range map[string]struct {
		spoil func([]byte) []byte
		want  string
	}{
		"empty":          {func([]byte) []byte { return nil }, "is empty"},
		"text":           {func([]byte) []byte { return []byte("users:\n- ann\n") }, "is not a SQLite database"},
		"short text":     {func([]byte) []byte { return []byte("x") }, "is not a SQLite database"},
		"header only":    {func(b []byte) []byte { return b[:100] }, "cannot be read"},
		"cut in half":    {func(b []byte) []byte { return b[:len(b)/2] }, "cannot be read"},
		"cut by a page":  {func(b []byte) []byte { return b[:len(b)-4096] }, "cannot be read"},
		"page of zeros":  {func(b []byte) []byte { clear(b[4096:8192]); return b }, "is damaged"},
		"header flipped": {func(b []byte) []byte { b[17] ^= 0xff; return b }, "is not a SQLite database"},
		"schema flipped": {func(b []byte) []byte { return bytes.Replace(b, []byte("CREATE TABLE"), []byte("CREATE FABLE"), -1) }, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "auth.db")
			bad := c.spoil(bytes.Clone(good))
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), path, Options{Migrate: true})
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("unclear: %v", err)
			}
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("not known as damaged: %v", err)
			}
			if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, bad) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
	t.Run("healthy", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "auth.db")
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		sqltest.CloseAtEnd(t, s)
		if _, err := s.GetUser(t.Context(), "u00"); err != nil {
			t.Error(err)
		}
	})
}

// TestRefusesFileBesideLog checks that Open does not write a log back into a file that is
// not a database.
func TestRefusesFileBesideLog(t *testing.T) {
	t.Parallel()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	if _, err := s.db.ExecContext(t.Context(), `VACUUM`); err != nil { // writes every page to the log
		t.Fatal(err)
	}
	log, err := os.ReadFile(s.location + "-wal")
	if err != nil || len(log) == 0 {
		t.Fatalf("a log of %d bytes: %v", len(log), err)
	}
	path := filepath.Join(t.TempDir(), "auth.db")
	files := map[string][]byte{path: []byte("users:\n- ann\n"), path + "-wal": log}
	for name, content := range files {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := Open(t.Context(), path, Options{Migrate: true}); err == nil {
		s.Close()
		t.Error("opened")
	} else if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "is not a SQLite database") {
		t.Errorf("unclear: %v", err)
	}
	for name, content := range files {
		if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s was changed (%v)", name, err)
		}
	}
}

// filled returns a database with some pages of data.
func filled(t *testing.T) []byte {
	t.Helper()
	s := newShared(t, Options{}, sqladapter.TestHooks{})
	for i := range 20 {
		u := adapter.User{ID: "u" + string(rune('0'+i/10)) + string(rune('0'+i%10)), Name: strings.Repeat("n", 3000)}
		if _, err := s.CreateUser(t.Context(), u, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.db.ExecContext(t.Context(), `PRAGMA wal_checkpoint(TRUNCATE)`); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(s.location)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func TestMissingFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Open(t.Context(), filepath.Join(dir, "no", "auth.db"), Options{Migrate: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing directory: %v", err)
	}
	if _, err := Open(t.Context(), dir, Options{Migrate: true}); err == nil {
		t.Error("opened a directory")
	}
	path := filepath.Join(dir, "lost.db") // only its log remains
	if err := os.WriteFile(path+"-wal", []byte("committed, not yet written back"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, Options{Migrate: true}); err == nil || !strings.Contains(err.Error(), "is missing, but its log") {
		t.Errorf("missing file beside a log: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("a new file was left beside the log")
	}
}

// TestFileBeingCreated covers another process that has created the file but not written
// to it yet.
func TestFileBeingCreated(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "auth.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	file := migrated(t, Options{})
	synctest.Test(t, func(t *testing.T) { // the other process is in time even on a slow machine
		time.AfterFunc(50*time.Millisecond, func() { os.WriteFile(path, file, 0o600) })
		if err := ensureFile(t.Context(), path); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if err := ensureFile(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
