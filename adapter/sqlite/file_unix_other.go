//go:build unix && !linux

package sqlite

// isMountPoint does not know.
func isMountPoint(string) (is, known bool) { return false, false }
