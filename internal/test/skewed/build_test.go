//go:build full

package skewed

import (
	"bytes"
	"os/exec"
	"testing"
)

// TestBuildTest runs TestClocks in a program where clocks can be shifted.
func TestBuildTest(t *testing.T) {
	t.Parallel()
	if Works() {
		return
	}
	binary, err := BuildTest(t.TempDir(), "authsvc/internal/test/skewed")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary, "-test.run", "TestClocks", "-test.v").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("this is the program that was built")) {
		t.Errorf("%v\n%s", err, out)
	}
}
