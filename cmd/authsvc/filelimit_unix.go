//go:build unix

package main

import (
	"syscall"
)

// fileLimit returns how many files the process may open, or 0 if that is unknown.
func fileLimit() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return uint64(limit.Cur)
}
