package outbound

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"authsvc/internal/protocol/weburl"
)

// addressClass says for which hosts an address may be dialled.
type addressClass int

const (
	// publicAddress may be dialled for any host.
	publicAddress addressClass = iota
	// internalAddress may only be dialled for a host that the operator configured, or
	// inside an allowed network.
	internalAddress
	// forbiddenAddress is never dialled. No identity provider has such an address, but
	// cloud metadata services that issue credentials do.
	forbiddenAddress
)

var forbiddenNetworks = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),          // "this" network; 0.0.0.0 reaches loopback on Linux
	netip.MustParsePrefix("169.254.0.0/16"),     // link-local; metadata of most clouds
	netip.MustParsePrefix("100.100.100.200/32"), // metadata, Alibaba
	netip.MustParsePrefix("168.63.129.16/32"),   // wire server, Azure
	netip.MustParsePrefix("192.0.0.192/32"),     // metadata, Oracle
	netip.MustParsePrefix("224.0.0.0/4"),        // multicast
	netip.MustParsePrefix("240.0.0.0/4"),        // reserved, broadcast
	netip.MustParsePrefix("::/96"),              // unspecified, IPv4-compatible (loopback is recognised before)
	netip.MustParsePrefix("fe80::/10"),          // link-local
	netip.MustParsePrefix("ff00::/8"),           // multicast
	netip.MustParsePrefix("fd00:ec2::254/128"),  // metadata, AWS
	netip.MustParsePrefix("fd20:ce::254/128"),   // metadata, Google
	netip.MustParsePrefix("2001::/32"),          // Teredo: hides an IPv4 address
	netip.MustParsePrefix("2002::/16"),          // 6to4: hides an IPv4 address
	netip.MustParsePrefix("::ffff:0:0:0/96"),    // IPv4-translated (SIIT, RFC 2765): hides an IPv4 address
}

var internalNetworks = []netip.Prefix{
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"),  // carrier-grade NAT, RFC 6598
	netip.MustParsePrefix("192.0.0.0/24"),   // protocol assignments
	netip.MustParsePrefix("198.18.0.0/15"),  // benchmarking
	netip.MustParsePrefix("fc00::/7"),       // unique local
	netip.MustParsePrefix("fec0::/10"),      // site-local, deprecated
	netip.MustParsePrefix("64:ff9b:1::/48"), // translation inside a network, RFC 8215
}

// nat64 holds an IPv4 address in its last four bytes (RFC 6052). The class of such an
// address is the class of the IPv4 address.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// classify returns the class of an address as it will be dialled. It first removes
// zones and the IPv4-mapped form, since no prefix contains them.
func classify(ip netip.Addr) addressClass {
	ip = ip.Unmap().WithZone("")
	if nat64.Contains(ip) {
		b := ip.As16()
		return classify(netip.AddrFrom4([4]byte(b[12:])))
	}
	switch {
	case !ip.IsValid():
		return forbiddenAddress
	case ip.IsLoopback():
		return internalAddress
	case within(ip, forbiddenNetworks):
		return forbiddenAddress
	case within(ip, internalNetworks):
		return internalAddress
	}
	return publicAddress
}

// within reports whether one of the networks contains ip.
func within(ip netip.Addr, networks []netip.Prefix) bool {
	for _, n := range networks {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}

// dialRule decides which addresses a pool may connect to.
type dialRule struct {
	allow    []netip.Prefix
	internal bool           // internal addresses, too
	inside   bool           // no address but internal ones and those in allow
	proxy    *Proxy         // nil: connect directly
	roots    *x509.CertPool // for TLS to the proxy; nil: the system's
	resolver *net.Resolver  // nil: the system's
}

func (r dialRule) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, errAddress
	}
	if r.proxy.reaches(host, port) {
		if err := r.checkNamed(host); err != nil {
			return nil, err
		}
		return r.proxy.connect(ctx, address, r.roots)
	}
	d := net.Dialer{
		Timeout:  5 * time.Second, // name lookup included
		Resolver: r.resolver,
		ControlContext: func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
			return r.check(host, resolved)
		},
	}
	return d.DialContext(ctx, network, address)
}

// check decides about one resolved ip:port just before connect(2).
func (r dialRule) check(host, resolved string) error {
	ap, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return errAddress
	}
	ip := ap.Addr().Unmap().WithZone("")
	// Plain http is allowed for "localhost", so it must be this machine whatever the
	// resolver says.
	if weburl.Loopback(host) && !ip.IsLoopback() {
		return fmt.Errorf("%w: a loopback name resolves elsewhere", errAddress)
	}
	switch classify(ip) {
	case publicAddress:
		if r.inside && !within(ip, r.allow) {
			return fmt.Errorf("%w: http beyond the internal network", errAddress)
		}
		return nil
	case internalAddress:
		if r.internal || within(ip, r.allow) {
			return nil
		}
		return fmt.Errorf("%w: internal network", errAddress)
	}
	return fmt.Errorf("%w: link-local, metadata or special purpose", errAddress)
}
