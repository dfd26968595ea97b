//go:build unix

package npm

import (
	"os"
	"syscall"
)

// lockFile waits until no other process holds the lock; closing the file releases it.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX) }
