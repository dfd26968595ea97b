package main

import (
	"net"
	"syscall"
	"testing"
)

// TestAttachSYNFilter: attaching is repeated while the kernel is too busy, up to a
// limit.
func TestAttachSYNFilter(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for want, failing := range map[bool]int{true: 3, false: attachAttempts} {
		tries := 0
		if got := attachSYNFilter(l, func(int, []syscall.SockFilter) error {
			if tries++; tries <= failing {
				return syscall.ENOTSUP
			}
			return nil
		}); got != want {
			t.Errorf("after %d failures: %v", failing, got)
		}
	}
}
