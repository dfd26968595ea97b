package dev

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"authsvc/internal/text/plainlog"
)

// A Lock keeps every other dev out of a folder. The system releases it when the process
// ends, however it ends.
type Lock struct{ file *os.File }

// lockName names the file that is locked. It contains the address of the dev that holds
// the lock.
const lockName = "lock"

// LockDir locks the folder of dev, which must exist, for the service at url. The error
// names the address of the dev that uses the folder.
func LockDir(dir, url string) (*Lock, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot lock the dev folder: %w", err)
	}
	switch err := lockFile(f); {
	case errors.Is(err, errLocked):
		err = errInUse(dir, f)
		return nil, errors.Join(err, f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("cannot lock the dev folder: %w", err), f.Close())
	}
	l := &Lock{f}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(url+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot lock the dev folder: %w", err), l.Close())
	}
	return l, nil
}

// errInUse returns the error for a folder that another dev uses.
func errInUse(dir string, holder io.Reader) error {
	at := ""
	if raw, err := io.ReadAll(io.LimitReader(holder, 1000)); err == nil && len(raw) > 0 {
		at = " at " + plainlog.Text(strings.TrimSpace(string(raw)))
	}
	return fmt.Errorf("%s is in use by the authsvc dev%s; stop that one, or give this one a folder of its own: --dir %s-2", dir, at, dir)
}

// Close releases the lock.
func (l *Lock) Close() error { return l.file.Close() }
