//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// checkNames checks that a database has only one name. SQLite looks for the log next to
// the name it opened. Processes that use different names do not see each other's log,
// and overwrite writes that the other has acknowledged; see
// https://www.sqlite.org/howtocorrupt.html.
func checkNames(path string) error {
	path, err := filepath.EvalSymlinks(path) // as SQLite does; a symbolic link does not count as another name
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	var file, folder syscall.Stat_t
	if err := errors.Join(syscall.Stat(path, &file), syscall.Stat(filepath.Dir(path), &folder)); err != nil {
		return fmt.Errorf("sqlite: %s: %w", path, err)
	}
	if file.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		return nil // the advice says so
	}
	mounted, known := isMountPoint(path)
	if !known {
		mounted = file.Dev != folder.Dev
	}
	return oneName(path, uint64(file.Nlink), mounted) //nolint:unconvert // it has another type on other systems
}

// oneName returns an error if a file with so many links has more than one name.
func oneName(path string, links uint64, mounted bool) error {
	switch {
	case links > 1:
		return fmt.Errorf("sqlite: %s has %d names, and processes that open it under different names lose each other's writes: "+
			"remove the hard links (find / -samefile %[1]s); left untouched", path, links)
	case mounted:
		return fmt.Errorf("sqlite: %s is mounted without its folder, so its log would not be next to the original file, "+
			"and writes would be lost: mount the folder; left untouched", path)
	}
	return nil
}

// denied reports whether this user may not both read and write a file. It does not open
// the file: closing it would end the locks of other connections of this process, see
// https://www.sqlite.org/howtocorrupt.html.
func denied(name string) bool {
	return errors.Is(unix.Faccessat(unix.AT_FDCWD, name, unix.R_OK|unix.W_OK, unix.AT_EACCESS), fs.ErrPermission)
}

// exposed lists the files of a database, including its log, that the mode bits in to
// make accessible: 0o070 for the group, 0o007 for everyone.
func exposed(path string, to os.FileMode) (string, error) {
	var names []string
	for _, name := range filesOf(path) {
		info, err := os.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", fmt.Errorf("sqlite: %w", err)
		case info.Mode().Perm()&0o066&to != 0:
			names = append(names, name)
		}
	}
	return strings.Join(names, " "), nil
}
