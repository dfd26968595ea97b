package freeport

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// TestPick checks that callers get different ports.
func TestPick(t *testing.T) {
	t.Parallel()
	taken := map[int]bool{}
	for _, n := range []int{1, 2, 1, 3, 2, 1, 1} {
		first, err := Pick(n)
		if err != nil {
			t.Fatal(err)
		}
		for port := first; port < first+n; port++ {
			if taken[port] {
				t.Errorf("port %d is given twice", port)
			}
			taken[port] = true
		}
	}
}

// TestRefusing checks that connections are refused, and that no other listener can
// get the port.
func TestRefusing(t *testing.T) {
	t.Parallel()
	addr := Refusing(t)
	var d net.Dialer
	if c, err := d.DialContext(t.Context(), "tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v, %v", c, err)
	}
	if l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", addr); err == nil {
		l.Close()
		t.Error("another process listens there")
	}
}
