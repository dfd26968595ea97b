package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// explain adds to an error of Open what to do about it, if the error or the file system
// says so.
func explain(path string, err error) error {
	if advice := adviceFor(path, err); advice != "" {
		return fmt.Errorf("%w: %s", err, advice)
	}
	return err
}

// adviceFor returns what to do about an error of Open, "" if that is not known.
func adviceFor(path string, err error) string {
	folder := filepath.Dir(path)
	switch {
	case err == nil:
		return ""
	case primary(err, lib.SQLITE_FULL), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "there is no room left: free space on its disk"
	case errors.Is(err, syscall.EROFS):
		return "its disk is mounted read-only: mount it for writing, or name a file on another one"
	case primary(err, lib.SQLITE_BUSY), primary(err, lib.SQLITE_LOCKED):
		return "another program has locked the database: end it, or wait until it has finished"
	case errors.Is(err, syscall.ENOTDIR):
		return folder + " is not a folder: name a file in a folder"
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR), primary(err, lib.SQLITE_CANTOPEN),
		primary(err, lib.SQLITE_READONLY), primary(err, lib.SQLITE_PERM), primary(err, lib.SQLITE_IOERR):
		return accessAdvice(path, folder)
	}
	return ""
}

// accessAdvice returns all that keeps this user from using the file, "" if nothing does.
// It leaves no file.
func accessAdvice(path, folder string) string {
	switch info, err := os.Stat(folder); {
	case errors.Is(err, fs.ErrNotExist):
		return "the folder " + folder + " does not exist: create it, or name a file in another one"
	case errors.Is(err, fs.ErrPermission):
		return "this user may not look into the folder " + folder + ": change its owner or mode, or that of a folder above it"
	case err == nil && !info.IsDir():
		return folder + " is not a folder: name a file in a folder"
	case err != nil:
		return ""
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return path + " is a folder: name a file in it"
	}
	var all []string
	if advice := deniedAdvice(path); advice != "" {
		all = append(all, advice)
	}
	f, err := os.CreateTemp(folder, ".authsvc-check-*")
	if err == nil {
		_, err = f.Write(make([]byte, 64<<10)) // what a new database and its log need
		f.Close()                              //nolint:errcheck // it is removed
		os.Remove(f.Name())                    //nolint:errcheck // there is nothing else to do
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		all = append(all, "this user may not create files in the folder "+folder+", which also holds the log of the database: change its owner or mode")
	case errors.Is(err, syscall.ENOSPC):
		all = append(all, "there is no room left: free space on its disk")
	case errors.Is(err, syscall.EROFS):
		all = append(all, "its disk is mounted read-only: mount it for writing, or name a file on another one")
	}
	return strings.Join(all, "; ")
}

// filesOf lists the files of a database.
func filesOf(path string) []string { return []string{path, path + "-wal", path + "-shm"} }

// deniedAdvice names the files of a database that this user may not both read and write,
// "" if there are none.
func deniedAdvice(path string) string {
	names := slices.DeleteFunc(filesOf(path), func(name string) bool { return !denied(name) })
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "this user may not read and write " + names[0] + ": change its owner or mode"
	}
	return "this user may not read and write " + strings.Join(names, ", ") + ": change their owner or mode"
}

// primary reports whether an error has a primary result code.
func primary(err error, code int) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == code
}

// CheckNew returns why Open could not create a file that does not exist yet. It leaves
// no file.
func CheckNew(location string) error {
	path, err := parsePath(location)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".authsvc-check-*")
	if err != nil {
		return explain(path, fmt.Errorf("sqlite: cannot create %s: %w", path, errors.Unwrap(err)))
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
