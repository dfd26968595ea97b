package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"authsvc/adapter/sqlite"
)

// TestFullDisk: on a full disk, sessions remain valid, pages are served, and sign-ins
// fail. When there is space again, sign-ins succeed. The log is on the same disk.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=3m"); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	op, addr := startProvider(t), freeAddress(t)
	origin := "http://" + addr
	l := newProcess(t, dir, addr, testConfig(origin, op))
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	l.cmd.Stdout, l.cmd.Stderr = log, log
	l.start()
	person := newPerson(origin, op, nil)
	if err := person.signIn(); err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 4<<20), 0o600); err == nil {
		t.Fatal("the disk did not fill up")
	}
	refused := false
	for range 50 { // a few may fit into existing database pages
		if refused = newPerson(origin, op, nil).signIn() != nil; refused {
			break
		}
	}
	if !refused {
		t.Error("sign-ins need no room")
	}
	if err := person.signedIn(); err != nil {
		t.Errorf("a session on a full disk: %v", err)
	}
	for _, path := range []string{"/readyz", "/api/auth/signin"} {
		if code, _ := getStatus(t, origin+path); code != http.StatusOK {
			t.Errorf("%s: %d", path, code)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := newPerson(origin, op, nil).signIn(); err != nil {
		t.Errorf("with room again: %v", err)
	}
	l.terminate()
	checkIntegrity(t, filepath.Join(dir, "authsvc.db"))
}

// TestUnwritableLog: people can sign in while the log cannot be written.
func TestUnwritableLog(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	op, addr := startProvider(t), freeAddress(t)
	l := newProcess(t, t.TempDir(), addr, testConfig("http://"+addr, op))
	l.cmd.Stdout, l.cmd.Stderr = full, full
	l.start()
	if err := newPerson("http://"+addr, op, nil).signIn(); err != nil {
		t.Error(err)
	}
	l.terminate()
}

// checkIntegrity opens a database, which checks its integrity.
func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestOnlineBackup: a backup made during sign-ins, as in docs/deploy.md, is
// intact and contains the earlier sessions.
func TestOnlineBackup(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Skip("sqlite3 is not installed")
	}
	op, addr, dir := startProvider(t), freeAddress(t), t.TempDir()
	origin := "http://" + addr
	l := newProcess(t, dir, addr, testConfig(origin, op))
	l.start()
	person := newPerson(origin, op, nil)
	if err := person.signIn(); err != nil {
		t.Fatal(err)
	}
	people := startLoad(t, 4, func() error { return newPerson(origin, op, nil).signIn() })
	for i, statement := range []string{".backup 'authsvc-backup%d.db'", "VACUUM INTO 'authsvc-backup%d.db'"} {
		done := people.count()
		eventually(t, "signing in", func() bool { return people.count() > done+10 })
		backup := exec.CommandContext(t.Context(), program, "authsvc.db", ".timeout 5000", fmt.Sprintf(statement, i))
		backup.Dir = dir
		if out, err := backup.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", statement, err, out)
		}
	}
	people.stopWithoutErrors(t)
	late := newPerson(origin, op, nil)
	if err := late.signIn(); err != nil {
		t.Fatal(err)
	}
	l.terminate()
	for i := range 2 {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			if err := os.Remove(filepath.Join(dir, "authsvc.db"+suffix)); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
		}
		if err := os.Rename(filepath.Join(dir, fmt.Sprintf("authsvc-backup%d.db", i)), filepath.Join(dir, "authsvc.db")); err != nil {
			t.Fatal(err)
		}
		restored := newProcess(t, dir, addr, testConfig(origin, op))
		restored.start()
		if err := person.signedIn(); err != nil {
			t.Errorf("signed in before backup %d: %v", i, err)
		}
		if i == 0 {
			if email, err := late.Email(); email != "" || err != nil {
				t.Errorf("signed in after the backup: %q, %v", email, err)
			}
		}
		if err := newPerson(origin, op, nil).signIn(); err != nil {
			t.Errorf("after a restore: %v", err)
		}
		restored.terminate()
	}
}
