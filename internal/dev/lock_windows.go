package dev

import (
	"os"

	"golang.org/x/sys/windows"
)

// errLocked is the error of lockFile if another process holds the lock.
const errLocked = windows.ERROR_LOCK_VIOLATION

// lockFile locks a file until it is closed. It does not wait. It locks one byte far
// behind the text in the file, because no other process can read a locked byte.
func lockFile(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1})
}
