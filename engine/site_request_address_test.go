package engine_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/arena"
)

// TestClientAddress: X-Forwarded-For counts from trusted proxies only. Of its
// addresses, the right-most that is not a trusted proxy's counts.
func TestClientAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		peer, forwarded, want string
		warned                bool
	}{
		"no proxy":               {"203.0.113.7:1", "", "203.0.113.7", false},
		"a client that claims":   {"203.0.113.7:1", "1.2.3.4", "203.0.113.7", false},
		"an unknown proxy":       {"10.9.9.9:1", "1.2.3.4", "10.9.9.9", true},
		"a trusted proxy":        {"10.0.0.1:1", "198.51.100.4", "198.51.100.4", false},
		"a client in front":      {"10.0.0.1:1", "1.2.3.4, 198.51.100.4", "198.51.100.4", false},
		"two trusted proxies":    {"10.0.0.1:1", "1.2.3.4, 198.51.100.4, 10.0.0.2", "198.51.100.4", false},
		"nonsense":               {"10.0.0.1:1", "1.2.3.4, what", "10.0.0.1", false},
		"an address in brackets": {"[2001:db8::1]:1", "", "2001:db8::1", false},
		"with a port":            {"10.0.0.1:1", "198.51.100.4:4711", "198.51.100.4", false},
		"IPv6 with a port":       {"10.0.0.1:1", "[2001:db8::2]:4711", "2001:db8::2", false},
		"IPv4 in IPv6":           {"[::ffff:10.0.0.1]:1", "::ffff:198.51.100.4", "198.51.100.4", false},
		"a zone":                 {"10.0.0.1:1", "fe80::1%eth0", "fe80::1", false},
		"two lines":              {"10.0.0.1:1", "1.2.3.4, 198.51.100.4\n10.0.0.2", "198.51.100.4", false},
		"an empty hop":           {"10.0.0.1:1", "1.2.3.4,,10.0.0.2", "10.0.0.2", false},
		"an empty hop first":     {"10.0.0.1:1", "1.2.3.4\n,10.0.0.2", "10.0.0.2", false},
		"a port without address": {"10.0.0.1:1", "198.51.100.4, :80", "10.0.0.1", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := arena.Start(t, func(cfg *authsvc.Config) {
				cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}
			})
			b := w.Browser()
			b.IP = c.peer
			if c.forwarded != "" {
				b.Header = http.Header{"X-Forwarded-For": strings.Split(c.forwarded, "\n")}
			}
			b.Post("/api/auth/signout", "csrfToken", "wrong") // audited with the address
			if !strings.Contains(w.Logs.String(), "client="+c.want+" ") && !strings.Contains(w.Logs.String(), `client="`+c.want+`"`) {
				t.Errorf("want %s in\n%s", c.want, w.Logs)
			}
			if got := strings.Contains(w.Logs.String(), "trusted_proxies"); got != c.warned {
				t.Errorf("warned: %v", got)
			}
		})
	}
}
