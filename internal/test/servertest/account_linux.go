package servertest

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// An account is the user that a server runs as. Nil: the user who runs the test.
type account struct{ uid, gid int }

// findAccount looks up a user if the test runs as root. PostgreSQL refuses to run as
// root. Other users cannot switch and need not.
func findAccount(name string) (*account, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	return &account{uid, gid}, err
}

func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)}
}

// chown gives a directory and its contents to the account.
func chown(dir string, a *account) error {
	if a == nil {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, a.uid, a.gid)
	})
}

// runAs runs a program and waits for it to end.
func runAs(a *account, path string, args ...string) error {
	cmd := exec.Command(path, args...)
	cmd.Dir = os.TempDir()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Credential: a.credential()}
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(path), err, output)
	}
	return nil
}

// releaseSharedMemory removes the shared memory segment of a killed PostgreSQL. The
// seventh line of its lock file holds the key and the id.
// https://www.postgresql.org/docs/current/storage-file-layout.html
func releaseSharedMemory(dir string) {
	text, err := os.ReadFile(filepath.Join(dir, dataName, "postmaster.pid"))
	if err != nil {
		return
	}
	if lines := strings.Split(string(text), "\n"); len(lines) > 6 {
		if words := strings.Fields(lines[6]); len(words) == 2 {
			// It fails if the server has already removed the segment.
			_ = exec.Command("ipcrm", "-m", words[1]).Run()
		}
	}
}
