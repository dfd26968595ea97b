package seal

import (
	"bytes"
	"testing"
)

func TestRandom(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 32} {
		if got := len(Random(n)); got != n {
			t.Errorf("Random(%d) has %d bytes", n, got)
		}
	}
	if a, b := Random(32), Random(32); bytes.Equal(a, b) {
		t.Error("Random repeats itself")
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	a, b := Token(), Token()
	if a == b {
		t.Error("Token repeats itself")
	}
	if raw, err := b64.DecodeString(a); err != nil || len(raw) != 32 || len(a) != 43 {
		t.Errorf("Token() = %q: %d bytes, %v", a, len(raw), err)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	// RFC 7636 appendix B.
	if got := Digest("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"); got != "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" {
		t.Errorf("Digest = %s", got)
	}
	if got := Digest("mIIoB6woHkAh3DT-pcHaDyznhY6qFdxjNX_6bTTDdTU"); got != "JwcxETQO7EIJRSPQa0J8X0vquS0CZ0jPXp-8YvoybOA" {
		t.Errorf("Digest = %s", got)
	}
}
