package weburl

import (
	"net/netip"
	"strings"
)

// Loopback reports whether a host without port is this machine by its name or
// address: localhost, what is below it (RFC 6761 §6.3), 127.0.0.0/8 or ::1. It
// resolves nothing.
func Loopback(host string) bool {
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
