//go:build !unix

package npm

import "os"

// lockFile does nothing where there are no such locks.
func lockFile(*os.File) error { return nil }
