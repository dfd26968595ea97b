package servertest

import (
	"os"
	"testing"

	"authsvc/internal/test/quiet"
)

// NotShort skips a test that needs a server if -short is set.
func NotShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves out what needs a server of another program")
	}
}

// Long skips a slow test unless AUTHSVC_E2E=1 is set.
func Long(t testing.TB) {
	t.Helper()
	if os.Getenv("AUTHSVC_E2E") != "1" {
		t.Skip("takes long; run with AUTHSVC_E2E=1 to switch it on")
	}
}

// Full is [quiet.Full], for packages that import this one anyway.
const Full = quiet.Full
