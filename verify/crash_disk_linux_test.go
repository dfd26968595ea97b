package verify

import (
	"errors"
	"fmt"
	"syscall"
)

// newCrashDisk mounts a disk of some megabytes. If mounting is not allowed, it ends
// the check.
func newCrashDisk(t *T, megabytes int) crashDisk {
	t.Helper()
	d := crashDisk{t.TempDir()}
	if err := syscall.Mount("tmpfs", d.dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes)); err != nil {
		t.Want("needs to mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

func crashFull(err error) bool { return errors.Is(err, syscall.ENOSPC) }
