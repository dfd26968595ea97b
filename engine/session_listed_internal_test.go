package engine

import (
	"bytes"
	"testing"
)

// TestHandleIsNoFlag: ids that operators pass to commands do not look like flags.
func TestHandleIsNoFlag(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for first := range 256 {
		h := handle(append([]byte{byte(first)}, bytes.Repeat([]byte{7}, 31)...))
		if len(h) != handleLength || h[0] == '-' {
			t.Errorf("%q", h)
		}
		seen[h] = true
	}
	if len(seen) < 250 { // four begin with - and become the same as those with _
		t.Errorf("%d of 256", len(seen))
	}
}
