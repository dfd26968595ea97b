//go:build !unix

package freeport

import (
	"fmt"
	"testing"
)

// Refusing returns a local address that has no listener.
func Refusing(t testing.TB) string {
	t.Helper()
	port, err := Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", port)
}
