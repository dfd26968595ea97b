//go:build unix

package dev

import (
	"os"
	"syscall"
)

// errLocked is the error of lockFile if another process holds the lock.
const errLocked = syscall.EWOULDBLOCK

// lockFile locks a file until it is closed. It does not wait.
func lockFile(f *os.File) error {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}
