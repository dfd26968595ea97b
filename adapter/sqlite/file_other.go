//go:build !unix

package sqlite

import "os"

// checkNames finds nothing: links are not looked for here.
func checkNames(string) error { return nil }

// exposed finds nothing: the mode of a file says nothing here.
func exposed(string, os.FileMode) (string, error) { return "", nil }
