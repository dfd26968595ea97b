package dev

import (
	"fmt"
	"net"
	neturl "net/url"
	"strconv"
)

// ProviderPort returns the port of the identity provider: service+1 or, if url has that
// port, service+2, because another server then listens on service+1.
func ProviderPort(service int, url string) int {
	if u, err := neturl.Parse(url); err == nil && u.Port() == strconv.Itoa(service+1) {
		return service + 2
	}
	return service + 1
}

// PortTaken returns the error for a port on which dev cannot listen. service is the
// port of the service, which determines the other one.
func PortTaken(port int, err error, host string, service int) error {
	what := ""
	if port != service {
		what = ", of dev's identity provider,"
	}
	return fmt.Errorf("port %d%s is not free (%w); stop the program that uses it, or choose another: authsvc dev --listen %s", port, what, err, net.JoinHostPort(host, strconv.Itoa(OtherPort(service))))
}

// OtherPort returns a port that errors propose instead of one that is in use. The two
// ports after it exist, too.
func OtherPort(port int) int {
	if port+10 > 65533 {
		return port - 10
	}
	return port + 10
}
