package outbound

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"
)

// Timeout and MaxBody limit a call unless HTTPOptions sets other values.
const (
	Timeout = 10 * time.Second
	MaxBody = 1 << 20 // bytes
)

// maxConns is the maximum number of connections of a client to one host. It keeps those
// that are idle, because a new one costs a TLS handshake.
const maxConns = 64

// ErrScheme says that a URL must not be called because of its scheme.
var ErrScheme = errors.New("only https is allowed, or http to a loopback host")

var (
	errRedirect = errors.New("redirect refused")
	errAddress  = errors.New("address is not allowed")
)

// HTTPOptions limits the service's network access.
type HTTPOptions struct {
	// Timeout is for one whole call: name lookup, connection, TLS, request and reading
	// the answer. Default: 10 s.
	Timeout time.Duration
	// MaxBody is the largest answer in bytes. A larger one is an error, not truncated.
	// Default: 1 MiB.
	MaxBody int64
	// AllowNetworks lists internal networks that may be reached for hosts that only a
	// provider named. Link-local, metadata, unspecified and multicast addresses stay
	// refused inside them.
	AllowNetworks []netip.Prefix
	// Proxy, if not nil, makes the connections to all hosts except loopback, those that
	// it was told to leave out, and the host of [Config.Plain]. It resolves their names,
	// so their addresses are not checked, except where a host is given as an address.
	Proxy *Proxy
	// RootCAs, if set, replaces the system's certificate authorities.
	RootCAs *x509.CertPool
	// Transport replaces the connection pools and every check of addresses. The rules
	// about schemes, redirects and sizes stay.
	Transport http.RoundTripper
}

// NewHTTPClient returns the client for all calls to a provider.
//
// It refuses redirects (they would pass on codes and secrets), any scheme except https
// (http only to a loopback host), TLS below 1.2, and answers larger than MaxBody. It
// uses no proxy from the environment, and keeps no cookies.
//
// Addresses are checked when they are dialled, after name resolution, so a name that
// resolves differently the second time gains nothing. Link-local, metadata, unspecified
// and multicast addresses are always refused. Loopback and private addresses are also
// refused, except in AllowNetworks and for the hosts of the URLs in the [Config] passed
// to [New].
func NewHTTPClient(o HTTPOptions) *http.Client {
	if o.Timeout <= 0 {
		o.Timeout = Timeout
	}
	if o.MaxBody <= 0 {
		o.MaxBody = MaxBody
	}
	allow := slices.Clone(o.AllowNetworks)
	t := &transport{discovered: o.Transport, configured: o.Transport, inside: o.Transport, maxBody: o.MaxBody}
	if o.Transport == nil {
		t.discovered = newPool(o.RootCAs, dialRule{allow: allow, proxy: o.Proxy, roots: o.RootCAs})
		t.configured = newPool(o.RootCAs, dialRule{allow: allow, internal: true, proxy: o.Proxy, roots: o.RootCAs})
		t.inside = newPool(o.RootCAs, dialRule{allow: allow, internal: true, inside: true})
	}
	return &http.Client{Timeout: o.Timeout, CheckRedirect: refuseRedirect, Transport: t}
}

// configured returns a client like c that may also reach loopback and private addresses
// for exactly the hosts (name and port) of the given URLs, and call plain, host:port, by
// http. Pass only hosts that the operator wrote, never one that a provider announced. A
// client that is not from [NewHTTPClient] is returned unchanged.
func configured(c *http.Client, plain string, urls ...string) *http.Client {
	t, ok := c.Transport.(*transport)
	if !ok {
		return c
	}
	t2 := *t
	t2.plain = plain
	t2.hosts = maps.Clone(t.hosts)
	if t2.hosts == nil {
		t2.hosts = make(map[string]bool)
	}
	for _, raw := range urls {
		if u, err := url.Parse(raw); err == nil && u.Host != "" {
			t2.hosts[hostPort(u)] = true
		}
	}
	c2 := *c
	c2.Transport = &t2
	return &c2
}

// guarded returns base with the rules that this package relies on, since a client that
// is not from NewHTTPClient may have others.
func guarded(base *http.Client, plain string, urls []string) *http.Client {
	if base == nil {
		base = NewHTTPClient(HTTPOptions{})
	}
	own := *configured(base, plain, urls...)
	own.CheckRedirect = refuseRedirect
	own.Jar = nil
	if own.Timeout <= 0 {
		own.Timeout = Timeout
	}
	return &own
}

func refuseRedirect(*http.Request, []*http.Request) error { return errRedirect }

// transport sends each request through one of three connection pools. The pools are
// separate because connections are reused by host name alone. With one pool, a
// connection opened for a configured host could serve a request to the same host
// discovered in another provider's metadata, without a dial to check it.
type transport struct {
	discovered http.RoundTripper // public addresses only
	configured http.RoundTripper // internal addresses as well
	inside     http.RoundTripper // internal addresses only
	hosts      map[string]bool   // host:port that use configured
	plain      string            // host:port that uses inside, and may be called by http
	maxBody    int64
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !secureURL(req.URL, t.plain) {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, ErrScheme
	}
	pool := t.discovered
	switch host := hostPort(req.URL); {
	case host == t.plain:
		pool = t.inside
	case t.hosts[host]:
		pool = t.configured
	}
	resp, err := pool.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, t.maxBody)
	return resp, nil
}

// CloseIdleConnections lets [http.Client.CloseIdleConnections] reach the pools.
func (t *transport) CloseIdleConnections() {
	for _, pool := range []http.RoundTripper{t.discovered, t.configured, t.inside} {
		if p, ok := pool.(*http.Transport); ok {
			p.CloseIdleConnections()
		}
	}
}

func newPool(roots *x509.CertPool, rule dialRule) *http.Transport {
	return &http.Transport{
		Proxy:                  nil, // the rule decides, not the environment
		DialContext:            rule.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:    5 * time.Second,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true, // documents are small; bombs are not
		MaxResponseHeaderBytes: 64 << 10,
		MaxConnsPerHost:        maxConns, // one hanging provider cannot take every socket
		MaxIdleConnsPerHost:    maxConns, // otherwise each burst of sign-ins opens new connections
		IdleConnTimeout:        90 * time.Second,
		// Stop using connections whose peer has vanished silently.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 5 * time.Second, PingTimeout: 3 * time.Second},
	}
}
