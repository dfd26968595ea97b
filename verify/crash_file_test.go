package verify

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"authsvc/internal/test/arena"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
	"authsvc/internal/test/servertest"
)

// crashRefusal starts a service that must refuse to start, and returns its output.
func crashRefusal(t *T, p *process.Process) string {
	t.Helper()
	p.Start()
	for deadline := time.Now().Add(patience); p.Running(); time.Sleep(10 * time.Millisecond) {
		if ready := lifecycleReady(p); ready || time.Now().After(deadline) {
			p.Kill()
			t.Errorf("it runs; ready: %v\n%s", ready, p.Logs)
			return p.Logs.String()
		}
	}
	if code := p.Wait(time.Second); code <= 0 {
		t.Errorf("exit %d", code)
	}
	return p.Logs.String()
}

// crashSpoils lists ways to damage a file and the message for each.
var crashSpoils = map[string]struct {
	spoil func([]byte) []byte
	said  string
}{
	"empty":          {func([]byte) []byte { return nil }, "is empty"},
	"text":           {func([]byte) []byte { return []byte("users:\n- ann\n") }, "is not a SQLite database"},
	"header only":    {func(b []byte) []byte { return b[:100] }, "cannot be read"},
	"cut in half":    {func(b []byte) []byte { return b[:len(b)/2] }, "cannot be read"},
	"cut by a page":  {func(b []byte) []byte { return b[:len(b)-4096] }, "cannot be read"},
	"page of zeros":  {func(b []byte) []byte { clear(b[4096:8192]); return b }, "is damaged"},
	"header flipped": {func(b []byte) []byte { b[17] ^= 0xff; return b }, "is not a SQLite database"},
	"schema flipped": {func(b []byte) []byte { return bytes.ReplaceAll(b, []byte("CREATE TABLE"), []byte("CREATE FABLE")) }, "cannot be read"},
}

// crash10 starts the service on damaged files.
func crash10(t *T) {
	near := process.NewNeighbours(t)
	good, goodLog := crashFile(t, near, "ada")
	for name, c := range crashSpoils {
		t.Run(name, func(t *T) {
			path := filepath.Join(t.TempDir(), "auth.db")
			bad := c.spoil(bytes.Clone(good))
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			said := crashRefusal(t, process.Prepare(t, near.YAML(""), "AUTHSVC_STORAGE_URL=sqlite:"+path))
			if !strings.Contains(said, c.said) || !strings.Contains(said, path) {
				t.Errorf("unclear: %s", said)
			}
			if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, bad) {
				t.Errorf("the file was changed, %v", err)
			}
		})
	}
	t.Run("only the log is left", func(t *T) {
		path := filepath.Join(t.TempDir(), "auth.db")
		if err := os.WriteFile(path+"-wal", goodLog, 0o600); err != nil {
			t.Fatal(err)
		}
		if said := crashRefusal(t, process.Prepare(t, near.YAML(""), "AUTHSVC_STORAGE_URL=sqlite:"+path)); !strings.Contains(said, "its log") {
			t.Errorf("unclear: %s", said)
		}
	})
	t.Run("twin", func(t *T) {
		path := filepath.Join(t.TempDir(), "auth.db")
		if err := os.WriteFile(path, good, 0o600); err != nil {
			t.Fatal(err)
		}
		p := process.Serve(t, near.YAML(""), "AUTHSVC_STORAGE_URL=sqlite:"+path)
		if a, err := browser.New(p.URL, nil).Get("/api/auth/session"); err != nil || a.StatusCode != http.StatusOK {
			t.Error(a, err)
		}
		p.Kill()
		if n := storeWhole(t, storeAt(t, []string{"AUTHSVC_STORAGE_URL=sqlite:" + path})); n != 1 {
			t.Errorf("%d users", n)
		}
	})
}

// crashFile returns an intact database with a user, and a write-ahead log with writes
// that only the log has.
func crashFile(t *T, near *process.Neighbours, sub string) (file, log []byte) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "auth.db")
	p := process.Serve(t, near.YAML(""), "AUTHSVC_STORAGE_URL=sqlite:"+path)
	if err := browser.New(p.URL, nil).SignIn(near.OP, sub); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(path + "-wal")
	if err != nil || len(log) == 0 {
		t.Fatal(len(log), err)
	}
	p.Signal(os.Interrupt)
	p.Wait(patience)
	if file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return file, log
}

// crashBackups lists the documented backup methods by kind of store.
var crashBackups = []struct {
	name    string
	start   func(t *T) (env []string)
	needs   []string
	backup  func(t *T, storage, file string) *exec.Cmd
	restore func(t *T, storage, file string) *exec.Cmd
}{
	{"sqlite", func(t *T) []string { return []string{"AUTHSVC_STORAGE_URL=sqlite:" + t.TempDir() + "/auth.db"} }, []string{"sqlite3"},
		func(_ *T, storage, file string) *exec.Cmd {
			return exec.Command("sqlite3", strings.TrimPrefix(storage, "sqlite:"), ".timeout 5000", ".backup '"+file+"'")
		},
		func(_ *T, storage, file string) *exec.Cmd {
			return exec.Command("cp", file, strings.TrimPrefix(storage, "sqlite:"))
		}},
	{"postgres", func(t *T) []string { return []string{"AUTHSVC_STORAGE_URL=" + servertest.Postgres(t)} }, []string{"pg_dump", "pg_restore"},
		func(_ *T, storage, file string) *exec.Cmd {
			return exec.Command("pg_dump", "--format=custom", "--file="+file, storage)
		},
		func(_ *T, storage, file string) *exec.Cmd {
			return exec.Command("pg_restore", "--clean", "--if-exists", "--dbname="+storage, file)
		}},
	{"mysql", func(t *T) []string { return []string{"AUTHSVC_STORAGE_URL=" + servertest.MySQL(t)} }, []string{"mariadb-dump", "mariadb"},
		func(t *T, storage, file string) *exec.Cmd {
			return exec.Command("mariadb-dump", append(crashMariaDB(t, storage), "--single-transaction", "--result-file="+file, crashDatabase(t, storage))...)
		},
		func(t *T, storage, file string) *exec.Cmd {
			return exec.Command("mariadb", append(crashMariaDB(t, storage), "-e", "source "+file, crashDatabase(t, storage))...)
		}},
}

// crashMariaDB returns the command options for the server in a URL.
func crashMariaDB(t *T, storage string) []string {
	t.Helper()
	u := arena.MustURL(t, storage)
	password, _ := u.User.Password()
	return []string{"--no-defaults", "--host=" + u.Hostname(), "--port=" + u.Port(), "--user=" + u.User.Username(), "--password=" + password}
}

func crashDatabase(t *T, storage string) string {
	t.Helper()
	return strings.TrimPrefix((&url.URL{Path: arena.MustURL(t, storage).Path}).Path, "/")
}

// crash09 takes a backup under load and starts a service on it. Everything
// acknowledged before the backup must be there. A user who signed out after it is
// signed in again, as the pages of the stores say.
func crash09(t *T) {
	for _, c := range crashBackups {
		t.Run(c.name, func(t *T) {
			for _, name := range c.needs {
				if lack := program(name).lack(); lack != "" {
					t.figures.add("without " + c.name + ": " + lack)
					return
				}
			}
			near, env := process.NewNeighbours(t), c.start(t)
			p := process.Serve(t, near.YAML(""), env...)
			b := newCrashBook(t, near, p)
			leaver := b.visitor()
			if err := leaver.SignIn(near.OP, "ada"); err != nil {
				t.Fatal(err)
			}
			before := b.copied(leaver)
			stop := b.load(2)
			time.Sleep(500 * time.Millisecond)
			b.mu.Lock()
			kept := slices.Clone(b.alive)
			b.mu.Unlock()
			file := filepath.Join(t.TempDir(), "backup")
			storage, _ := storeURL(env)
			if out, err := c.backup(t, storage, file).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			stop()
			if err := leaver.SignOut(); err != nil {
				t.Fatal(err)
			}
			p.Kill()
			fresh := c.start(t)
			other, _ := storeURL(fresh)
			if out, err := c.restore(t, other, file).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			p.Setenv(fresh[0])
			p.Start()
			p.Ready(patience)
			b.alive, b.dead, b.redeemed, b.linked = kept, nil, nil, nil
			b.all()
			if got, err := before.Email(); got != "ada@example.com" || err != nil {
				t.Errorf("signed in when the backup was made, now %q, %v", got, err)
			}
			if err := b.visitor().SignIn(near.OP, "grace"); err != nil {
				t.Error(err)
			}
			storeWhole(t, storeAt(t, fresh))
			t.Figure("%s: %d sessions kept", c.name, len(kept))
		})
	}
}
