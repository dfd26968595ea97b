package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	lib "modernc.org/sqlite/lib"
	direct "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// parsePath returns the absolute path of a file name or a sqlite: URL.
func parsePath(location string) (string, error) {
	path, isURL := strings.CutPrefix(location, "sqlite:")
	if isURL {
		if after, ok := strings.CutPrefix(path, "//"); ok {
			if !strings.HasPrefix(after, "/") {
				return "", errors.New(`sqlite: a URL must not have a host; write sqlite:FILE or sqlite:///FILE`)
			}
			path = after
		}
		if strings.ContainsAny(path, "?#") {
			return "", errors.New("sqlite: a URL must not have parameters")
		}
	}
	switch {
	case path == "":
		return "", errors.New("sqlite: no file name")
	case path == ":memory:", strings.HasPrefix(path, "file:"):
		return "", fmt.Errorf("sqlite: %q is not a file name (for a store in memory, write memory:)", path)
	case strings.ContainsRune(path, 0):
		return "", errors.New("sqlite: file name contains a NUL")
	}
	return filepath.Abs(path)
}

// mapped is the number of bytes of the file that readers map into memory: SQLite's
// maximum. With 500 000 sessions, reading a random one takes 18 µs instead of 25 µs;
// past the limit the gain shrinks. Larger page caches and larger pages were no faster.
// The cost: a disk error under a mapped page ends the process instead of failing a
// request.
const mapped = 1<<31 - 1

// cacheSize returns the size of one reader's page cache in bytes. It holds the inner
// pages of the trees, for the part of the file that is not mapped. Files of 4 GiB and
// more cost up to 64 MiB for each reader.
func cacheSize(path string) int64 {
	const least, most, share = 2 << 20, 64 << 20, 64
	info, err := os.Stat(path)
	if err != nil {
		return least
	}
	return min(max(info.Size()/share, least), most)
}

// busyTimeout is how long a connection waits for other processes' connections.
const busyTimeout = 5 * time.Second

// dsn returns the database/sql data source name, with the settings of a writing
// connection. With synchronous=FULL, acknowledged writes survive a power loss.
// Defensive mode and the ban on double-quoted strings guard against our own mistakes.
func dsn(path string) string {
	return fileURL(path, url.Values{
		"_busy_timeout": {strconv.FormatInt(busyTimeout.Milliseconds(), 10)},
		"_foreign_keys": {"1"},
		"_journal_mode": {"WAL"},
		"_synchronous":  {"FULL"},
		"_txlock":       {"immediate"},
		"_defensive":    {"1"},
		"_dqs":          {"0"},
		"_error_rc":     {"1"},
	})
}

// fileURL returns the URL by which SQLite opens a file with settings.
func fileURL(path string, settings url.Values) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	return (&url.URL{Scheme: "file", OmitHost: false, Path: path, RawQuery: settings.Encode()}).String()
}

// ensureFile creates the file, readable only by its owner, or checks that the existing
// file can be a database. SQLite alone would take an empty file, such as a truncated
// one, for a new database.
func ensureFile(ctx context.Context, path string) error {
	// Look for the log first: a process that creates both creates the file before the
	// log.
	wal, walErr := os.Stat(path + "-wal")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return errors.Join(checkFile(ctx, path), checkNames(path))
	}
	if err != nil {
		return fmt.Errorf("sqlite: create: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("sqlite: create: %w", err)
	}
	if walErr == nil && wal.Size() > 0 {
		_ = os.Remove(path) // otherwise the next start would refuse the empty file
		return fmt.Errorf("sqlite: %s is missing, but its log %s-wal exists: restore the file, or remove the log to start with a new database", path, path)
	}
	return nil
}

// ErrDamaged marks errors of Open about a file that is not a database or cannot be
// read. Open leaves the file unchanged.
var ErrDamaged = errors.New("sqlite: the database is damaged")

type damagedError struct{ error }

func (e damagedError) Unwrap() error        { return e.error }
func (e damagedError) Is(target error) bool { return target == ErrDamaged }

// creationTime is how long another process may take from creating the file to writing
// its first page.
const creationTime = 2 * time.Second

func checkFile(ctx context.Context, path string) error {
	for deadline := time.Now().Add(creationTime); ; {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return fmt.Errorf("sqlite: %w", err)
		case info.IsDir():
			return fmt.Errorf("sqlite: %w", &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR})
		case info.Size() > 0:
			if info.Size() == 1 || notDatabase(path) { // SQLite takes a single byte for an empty file
				return damagedError{fmt.Errorf("sqlite: %s is not a SQLite database; left untouched", path)}
			}
			return nil
		case time.Now().After(deadline):
			return damagedError{fmt.Errorf("sqlite: %s is empty, perhaps truncated: restore it, or remove it to start with a new database", path)}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// checkPrivate refuses a database that every user of the machine may read or write. The
// error also names the files that this user may not read and write, because Open would
// report them only afterwards.
func checkPrivate(path string) error {
	names, err := exposed(path, 0o007)
	if err != nil || names == "" {
		return err
	}
	err = fmt.Errorf("sqlite: every user of this machine can read or write the database, and use its session tokens: chmod o-rwx %s", names)
	if advice := deniedAdvice(path); advice != "" {
		err = fmt.Errorf("%w; %s", err, advice)
	}
	return err
}

// notDatabase reports whether SQLite refuses a file because it is not a database. An
// immutable file is read without its log or journal, so nothing is written. Only SQLite
// may open the file: closing it would otherwise end the locks of other connections of
// this process, see https://www.sqlite.org/howtocorrupt.html. All other errors are left
// to [Store.check], which holds a lock.
func notDatabase(path string) bool {
	conn, err := direct.OpenConn(fileURL(path, url.Values{"immutable": {"1"}}), direct.OpenReadOnly, direct.OpenURI)
	if err != nil {
		return false
	}
	defer conn.Close() //nolint:errcheck // nothing was written
	return is(lib.SQLITE_NOTADB)(sqlitex.ExecuteTransient(conn, `PRAGMA schema_version`, nil))
}
