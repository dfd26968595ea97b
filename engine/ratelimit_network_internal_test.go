package engine

import (
	"net/netip"
	"testing"
)

// People are told enough of a network to recognise it.
func TestShownNetwork(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"203.0.113.77": "203.0.113.0/24", "2001:db8:1:2:3::4": "2001:db8:1::/48", "127.0.0.1": "", "::1": "", "": "",
	} {
		ip, _ := netip.ParseAddr(address)
		if got := shownNetwork(ip); got != want {
			t.Errorf("%q: %q, want %q", address, got, want)
		}
	}
}
