package outbound

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/idna"

	"authsvc/internal/protocol/weburl"
)

// proxyTimeout limits the connection to the proxy and its answer, in which it connects
// to the host. maxProxyAnswer limits that answer, in bytes.
const (
	proxyTimeout   = 5 * time.Second
	maxProxyAnswer = 16 << 10
)

// A Proxy connects to hosts for the service: by CONNECT (RFC 9110, section 9.3.6), also
// for http, so it sees hosts but no requests.
type Proxy struct {
	address string // host:port
	secure  bool   // the connection to the proxy uses TLS
	login   string // the value of Proxy-Authorization; "" for none
	direct  []directHost
}

// A directHost is a host that is called without the proxy.
type directHost struct {
	name string // as canonicalName returns it; a leading dot stands for any subdomain
	port string // "" for all
}

// ParseProxy reads http://[USER:PASSWORD@]HOST:PORT, or the same with https for TLS up
// to the proxy. direct lists hosts, in the notation of [CheckHosts], to connect to
// without the proxy; a host without port stands for all its ports. The error does not
// quote raw. ParseProxy returns nil for "".
func ParseProxy(raw string, direct []string) (*Proxy, error) {
	if raw == "" {
		return nil, nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("is not the address of a proxy")
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); err != nil || n == 0 {
		return nil, errors.New("does not name the port of the proxy")
	}
	p := &Proxy{address: net.JoinHostPort(canonicalName(u.Hostname()), u.Port()), secure: u.Scheme == "https"}
	if u.User != nil {
		password, _ := u.User.Password()
		p.login = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password))
	}
	for _, host := range direct {
		if u := hostURL(strings.TrimPrefix(host, "*")); u != nil {
			p.direct = append(p.direct, directHost{canonicalName(u.Hostname()), u.Port()})
		}
	}
	return p, nil
}

// reaches reports whether to connect to a host through the proxy. A loopback name would
// mean the proxy's own machine.
func (p *Proxy) reaches(host, port string) bool {
	if p == nil || weburl.Loopback(host) {
		return false
	}
	host = canonicalName(host)
	for _, d := range p.direct {
		if d.port != "" && d.port != port {
			continue
		}
		if d.name == host {
			return false
		} else if below, ok := strings.CutSuffix(host, d.name); ok && strings.HasPrefix(d.name, ".") && plainLabels(below) {
			return false
		}
	}
	return true
}

// canonicalName returns the one spelling of a host in which names are compared: in ASCII
// (RFC 5890), as net/http asks for it, in lower case, without the final dot; an address
// in its usual form.
func canonicalName(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		return ascii
	}
	return host
}

// A proxyError says why the proxy did not connect. It contains no text of the proxy.
type proxyError struct {
	text string
	kind error // nil if a later attempt cannot succeed
}

func (e *proxyError) Error() string { return e.text }

// Unwrap returns errNoConnection if another attempt may succeed at once, since the host
// has received nothing; and ErrUnavailable if the time is used up.
func (e *proxyError) Unwrap() error { return e.kind }

// connect returns a connection to address, host:port, through the proxy.
func (p *Proxy) connect(ctx context.Context, address string, roots *x509.CertPool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, proxyTimeout)
	defer cancel()
	conn, err := dialRule{internal: true}.dial(ctx, "tcp", p.address)
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() && ctx.Err() == nil {
		return nil, errProxyLate // its timer was faster than that of ctx
	} else if err != nil {
		return nil, proxyFailed(ctx, "no connection to the proxy")
	}
	end := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) }) //nolint:errcheck // the connection is then broken
	tunnel, err := p.open(ctx, conn, address, roots)
	if !end() || err != nil {
		conn.Close()
		if ctx.Err() != nil || err == nil {
			return nil, proxyFailed(ctx, "")
		}
		return nil, err
	}
	return tunnel, nil
}

var errProxyLate = &proxyError{ErrUnavailable.Error() + ": the proxy did not answer in time", ErrUnavailable}

// proxyFailed returns an error that may be temporary, or the caller's own if it left.
func proxyFailed(ctx context.Context, text string) error {
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case ctx.Err() != nil:
		return errProxyLate
	}
	return &proxyError{errNoConnection.Error() + ": " + text, errNoConnection}
}

// open asks the proxy for a tunnel.
func (p *Proxy) open(ctx context.Context, conn net.Conn, address string, roots *x509.CertPool) (net.Conn, error) {
	if p.secure {
		host, _, _ := net.SplitHostPort(p.address)
		secured := tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, ServerName: host})
		if err := secured.HandshakeContext(ctx); err != nil {
			return nil, proxyFailed(ctx, "no TLS connection to the proxy: its certificate must be trusted and name its host")
		}
		conn = secured
	}
	req := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: http.Header{"User-Agent": {"authsvc"}}}
	if p.login != "" {
		req.Header.Set("Proxy-Authorization", p.login)
	}
	if err := req.Write(conn); err != nil {
		return nil, proxyFailed(ctx, "the proxy closed the connection")
	}
	answer := bufio.NewReader(io.LimitReader(conn, maxProxyAnswer))
	resp, err := http.ReadResponse(answer, req) // the body of this answer is the tunnel
	switch {
	case err != nil:
		return nil, proxyFailed(ctx, "the proxy did not answer with HTTP")
	case resp.StatusCode == http.StatusProxyAuthRequired:
		return nil, &proxyError{"the proxy refuses the user and password, or their absence (status 407)", nil}
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		text := "the proxy does not connect to this host (status " + strconv.Itoa(resp.StatusCode) + ")"
		if Transient(resp.StatusCode) {
			return nil, proxyFailed(ctx, text)
		}
		return nil, &proxyError{text, nil}
	case answer.Buffered() > 0: // the host speaks second, so this is not from it
		return nil, &proxyError{"the proxy sent more than its answer", nil}
	}
	return conn, nil
}

// checkNamed decides about a host before the proxy is asked. The proxy resolves names,
// so only an address, or a name that tells where it leads, can be refused here.
func (r dialRule) checkNamed(host string) error {
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.Zone() != "" { // means nothing to the proxy, and may contain spaces
			return errAddress
		}
		return r.check(host, netip.AddrPortFrom(ip, 0).String())
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if !plainLabels(name) { // a proxy may read it as another name, or as an address
		return errAddress
	}
	last := name[strings.LastIndexByte(name, '.')+1:]
	if numeric(last) { // 127.1 and 0x7f000001: some resolvers read them as addresses
		return errAddress
	}
	if r.internal {
		return nil
	}
	switch last { // RFC 6762, RFC 8375, and names that ICANN reserves for internal use
	case name, "local", "internal", "arpa":
		return errAddress
	}
	return nil
}

// numeric reports whether browsers and resolvers read a name that ends in this label as
// an IPv4 address.
//
// https://url.spec.whatwg.org/#ends-in-a-number-checker
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
