//go:build unix && !linux

package sqlite

// isMountPoint cannot tell on this system.
func isMountPoint(string) (is, known bool) { return false, false }
