package weburl

import (
	"net/netip"
	"strings"
)

// Loopback reports whether a host without port names this machine: localhost, any name
// below it (RFC 6761 §6.3), 127.0.0.0/8 or ::1. It resolves nothing.
func Loopback(host string) bool {
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Hostname returns the host of an origin in canonical spelling, without the port and
// the brackets of an IPv6 address.
func Hostname(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	if i := strings.LastIndexByte(host, ':'); i > strings.LastIndexByte(host, ']') {
		host = host[:i]
	}
	return strings.Trim(host, "[]")
}
