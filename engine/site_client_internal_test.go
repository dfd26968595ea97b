package engine

import (
	"net/http/httptest"
	"net/netip"
	"testing"
)

// People are shown enough of a network to recognise it.
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

func TestClientKey(t *testing.T) {
	t.Parallel()
	for remote, want := range map[string]string{
		"192.0.2.1:1":                    "192.0.2.1",
		"192.0.2.2:1":                    "192.0.2.2",
		"[::ffff:192.0.2.1]:9":           "192.0.2.1",
		"[2001:db8:1:2:3:4:5:6]:1":       "2001:db8:1:2::/64",
		"[2001:DB8:1:2::7]:1":            "2001:db8:1:2::/64",
		"[2001:db8:1:3::7]:1":            "2001:db8:1:3::/64",
		"[fe80::1%eth0]:1":               "fe80::/64",
		"[2001:0db8:0001:0002::0001]:80": "2001:db8:1:2::/64",
	} {
		rq := &request{site: &site{}, r: httptest.NewRequest("GET", "/", nil)}
		rq.r.RemoteAddr = remote
		if got := rq.clientKey(); got != want {
			t.Errorf("%s counts as %s, want %s", remote, got, want)
		}
	}
}
