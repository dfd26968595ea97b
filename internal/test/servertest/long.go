package servertest

import (
	"os"
	"testing"

	"authsvc/internal/test/quiet"
)

// NotShort skips a test that needs a server when -short asks for the quick ones.
func NotShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what needs a server of another program")
	}
}

// Long skips a test unless AUTHSVC_E2E=1 asks for those that take long.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv("AUTHSVC_E2E") != "1" {
		t.Skip("takes long; run with AUTHSVC_E2E=1 to switch it on")
	}
}

// Full is that of package quiet, for those who import this one anyway.
const Full = quiet.Full
