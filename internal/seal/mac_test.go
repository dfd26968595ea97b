package seal

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"testing"
)

func TestMACVerify(t *testing.T) {
	t.Parallel()
	before := ring(t, "old").MAC("p")
	during := ring(t, "new", "old").MAC("p")
	after := ring(t, "new").MAC("p")
	tests := []struct {
		name             string
		signer, verifier *MAC
		ok, stale        bool
	}{
		{"same ring", before, before, true, false},
		{"rotated", before, during, true, true},
		{"rotated, new", during, during, true, false},
		{"old secret gone", before, after, false, false},
		{"old secret only", after, before, false, false},
		{"other purpose", ring(t, "old").MAC("q"), before, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			sum := test.signer.Sum("a", "b")
			if len(sum) != sha256.Size {
				t.Errorf("sum of %d bytes", len(sum))
			}
			if ok, stale := test.verifier.Verify(sum, "a", "b"); ok != test.ok || stale != test.stale {
				t.Errorf("Verify = %t, %t; want %t, %t", ok, stale, test.ok, test.stale)
			}
		})
	}
}

func TestMACRefuses(t *testing.T) {
	t.Parallel()
	m := ring(t, "s3cret", "older").MAC("p")
	sum := m.Sum("a", "b")
	if ok, _ := m.Verify(sum, "a", "b"); !ok {
		t.Fatal("the sum itself is refused")
	}
	refused := func(name string, sum []byte, parts ...string) {
		t.Helper()
		if ok, stale := m.Verify(sum, parts...); ok || stale {
			t.Errorf("%s: Verify = %t, %t", name, ok, stale)
		}
	}
	refused("nil", nil, "a", "b")
	refused("empty", []byte{}, "a", "b")
	refused("zeros", make([]byte, 32), "a", "b")
	refused("short", sum[:31], "a", "b")
	refused("long", append(bytes.Clone(sum), 0), "a", "b")
	refused("other part", sum, "a", "c")
	refused("no part", sum)
	for i := range sum {
		sum[i] ^= 1
		refused("flipped", sum, "a", "b")
		sum[i] ^= 1
	}
}

func TestMACFraming(t *testing.T) {
	t.Parallel()
	m := ring(t, "s3cret").MAC("p")
	lists := [][]string{
		{}, {""}, {"", ""}, {"abc"}, {"ab", "c"}, {"a", "bc"}, {"a", "b", "c"}, {"", "abc"}, {"abc", ""},
		{"c", "ab"}, {"a,bc"}, {"\x00"}, {"\x00\x00\x00\x00\x00\x00\x00\x00"},
		{"\x00\x00\x00\x00\x00\x00\x00\x01a"}, {"a\x00\x00\x00\x00\x00\x00\x00\x01b"}, {"a", "b"},
	}
	for i, a := range lists {
		for j, b := range lists {
			if ok, _ := m.Verify(m.Sum(a...), b...); ok != (i == j) {
				t.Errorf("Verify(Sum(%q), %q) = %t", a, b, ok)
			}
		}
	}
}

// TestMACMessage fixes the authenticated message, so that it cannot change unnoticed.
func TestMACMessage(t *testing.T) {
	t.Parallel()
	h := hmac.New(sha256.New, derive("s3cret", "", "authsvc/v1/mac p", 32))
	h.Write([]byte("\x00\x00\x00\x00\x00\x00\x00\x02ab\x00\x00\x00\x00\x00\x00\x00\x01c"))
	if got := ring(t, "s3cret").MAC("p").Sum("ab", "c"); !bytes.Equal(got, h.Sum(nil)) {
		t.Errorf("Sum = %x", got)
	}
}
