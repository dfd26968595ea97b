package sqlite

import "golang.org/x/sys/unix"

// isMountPoint reports whether the file itself is a mount point. Kernels before 5.8
// cannot tell.
func isMountPoint(path string) (is, known bool) {
	var st unix.Statx_t
	if err := unix.Statx(unix.AT_FDCWD, path, 0, 0, &st); err != nil {
		return false, false
	}
	return st.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0, st.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT != 0
}
