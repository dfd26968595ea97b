//go:build !unix

package sqlite

import "os"

// checkNames does nothing: hard links are not checked on this system.
func checkNames(string) error { return nil }

// denied finds nothing: Open's own error must suffice on this system.
func denied(string) bool { return false }

// exposed finds nothing: file modes mean nothing on this system.
func exposed(string, os.FileMode) (string, error) { return "", nil }
