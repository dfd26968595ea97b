// Package upstream forwards requests to a program unchanged. A request may last as long
// as the program and the client continue.
package upstream

import (
	"context"
	"errors"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"authsvc/internal/protocol/weburl"
)

// Limits of one request.
const (
	dialTimeout = 5 * time.Second
	// stallTimeout is how long a request's body may pause, however much has arrived.
	stallTimeout = time.Minute
	maxHeader    = 256 << 10 // bytes of an answer's header
	maxIdle      = 100       // connections
	// flushAfter is how long a part of an answer waits for the next one, so that a
	// short answer is sent in one write. An answer without a length and a stream of
	// events are sent at once.
	flushAfter = 5 * time.Millisecond
)

// A Target is the address of a program.
type Target struct {
	Origin string // scheme://host[:port], empty for a socket
	Socket string // path of a Unix socket
}

// errTarget says that a text is neither form of a target.
var errTarget = errors.New("neither an origin nor unix:/path")

// Parse reads http://host:port, https://host:port or unix:/path.
func Parse(raw string) (Target, error) {
	if path, ok := strings.CutPrefix(raw, "unix:"); ok {
		if !strings.HasPrefix(path, "/") || strings.ContainsRune(path, 0) {
			return Target{}, errTarget
		}
		return Target{Socket: path}, nil
	}
	origin, ok := weburl.ExactOrigin(raw)
	if !ok {
		return Target{}, errTarget
	}
	return Target{Origin: origin}, nil
}

// Options configures a Proxy.
type Options struct {
	Target  Target
	Timeout time.Duration // until the header of the answer
	Budget  *Budget       // limits the requests
	// OurCookie reports whether a cookie is ours and not the program's. Such cookies
	// are removed from requests and answers. Dropped is called once for each Proxy, for
	// the first one in an answer.
	OurCookie func(name string) bool
	Dropped   func(name string)
	// Failed answers if the program fails: with 502, or 504 if it took too long, or 503
	// if the Budget has no room.
	Failed func(w http.ResponseWriter, r *http.Request, status int, err error)
}

// A Sender says where a request comes from. Its headers no longer do.
type Sender struct {
	Network string // that the request counts for in the Budget
	Address string // of the client, or "" if unknown
	Origin  string // that the Host header names
}

// A Proxy passes requests on to one program.
type Proxy struct {
	Options
	proxy     httputil.ReverseProxy // without Rewrite
	transport *http.Transport
	told      atomic.Bool
}

// New makes a proxy. It follows no redirects, uses no other proxy, stores no answers
// and changes no bodies.
func New(o Options) *Proxy {
	dialer := &net.Dialer{Timeout: dialTimeout}
	p := &Proxy{Options: o, transport: &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: dialTimeout, ResponseHeaderTimeout: o.Timeout, IdleConnTimeout: 90 * time.Second,
		MaxIdleConns: maxIdle, MaxIdleConnsPerHost: maxIdle, MaxResponseHeaderBytes: maxHeader, DisableCompression: true}}
	if o.Target.Socket != "" {
		p.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", o.Target.Socket)
		}
	}
	p.proxy = httputil.ReverseProxy{Transport: p.transport, FlushInterval: flushAfter, ModifyResponse: p.modify, BufferPool: buffers{},
		ErrorHandler: p.failed, ErrorLog: log.New(io.Discard, "", 0)}
	return p
}

// buffers provides the buffers to copy bodies. Without it, each page of 1 KiB would
// leave 32 KiB of garbage.
type buffers struct{}

var bufferPool = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Get implements [httputil.BufferPool].
func (buffers) Get() []byte { return bufferPool.Get().(*[32 << 10]byte)[:] }

// Put implements [httputil.BufferPool].
func (buffers) Put(b []byte) {
	b = b[:32<<10]
	bufferPool.Put((*[32 << 10]byte)(b))
}

// CloseIdleConnections closes connections that wait for a request.
func (p *Proxy) CloseIdleConnections() { p.transport.CloseIdleConnections() }

// Pass passes a request on. It replaces the server's deadlines with ones that allow long
// streams if the client is not too slow. It may change r. cancel must end the context
// of r.
func (p *Proxy) Pass(w http.ResponseWriter, r *http.Request, from Sender, cancel context.CancelFunc) {
	limits := &deadlines{control: http.NewResponseController(w)}
	passing := p.Budget.enter(from.Network, func() { cancel(); limits.end() })
	if passing == nil {
		w.Header().Set("Connection", "close") // reading more from it would hold a connection that others need
		limits.read(time.Now().Add(time.Second), true)
		p.Failed(w, r, http.StatusServiceUnavailable, ErrBusy)
		return
	}
	defer p.Budget.leave(passing)
	limits.write(time.Time{})
	limits.read(time.Time{}, false)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &patientBody{ReadCloser: r.Body, limits: limits, passing: passing, budget: p.Budget, stream: r.ContentLength < 0}
		// The server soon stops reading a body that the program did not want.
		defer func() { limits.read(time.Now().Add(grace), true) }()
	}
	w.Header().Del("Cache-Control") // it is up to the program
	out := newWriter(w, limits, passing)
	proxy := p.proxy
	proxy.Rewrite = func(r *httputil.ProxyRequest) { p.rewrite(r, &from) }
	proxy.ServeHTTP(out, r)
	out.last()
}

// A patientBody may take long if enough bytes arrive.
type patientBody struct {
	io.ReadCloser
	limits  *deadlines
	passing *passing
	budget  *Budget
	stream  bool // without an announced length: it may pause if there is room for others
	pace    pace
}

var errSlow = errors.New("the client sends its body too slowly")

// Read implements [io.Reader].
func (b *patientBody) Read(to []byte) (int, error) {
	begun := time.Now()
	until := begun.Add(stallTimeout)
	if end := b.pace.deadline(begun, 0); end.Before(until) && (!b.stream || b.budget.pressed()) {
		until = end
	}
	b.limits.read(until, false)
	n, err := b.ReadCloser.Read(to)
	b.pace.went(n, begun)
	b.passing.bytes.Add(int64(n))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return n, errSlow
	}
	// No deadline applies until the next read: with HTTP/2, it would also count the
	// time of a program that does not read. After an error it stays unset, since the
	// server waits for the client to go.
	b.limits.read(time.Time{}, err != nil)
	return n, err
}

// rewrite addresses the request to the program.
func (p *Proxy) rewrite(r *httputil.ProxyRequest, from *Sender) {
	r.Out.URL.Scheme, r.Out.URL.Host, _ = strings.Cut(p.Target.Origin, "://")
	if p.Target.Socket != "" {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", "socket"
	}
	r.Out.Host = r.In.Host
	keepTarget(r)
	scheme, authority, _ := strings.Cut(from.Origin, "://")
	h, values := r.Out.Header, [3]string{authority, scheme, from.Address}
	h["X-Forwarded-Host"], h["X-Forwarded-Proto"] = values[0:1:1], values[1:2:2]
	if from.Address != "" {
		h["X-Forwarded-For"], h["X-Real-Ip"] = values[2:3:3], values[2:3:3]
	}
	cookies := Cookies(h, p.OurCookie)
	delete(h, "Cookie")
	if cookies != "" {
		h["Cookie"] = []string{cookies}
	}
	if _, ok := h["User-Agent"]; !ok {
		h["User-Agent"] = nil // otherwise the transport sends its own
	}
}

// keepTarget sends the path and the query unchanged, so that the program receives what
// was judged.
func keepTarget(r *httputil.ProxyRequest) {
	in, out := r.In.URL, r.Out.URL
	out.RawQuery, out.ForceQuery = in.RawQuery, in.ForceQuery
	path, _, _ := strings.Cut(r.In.RequestURI, "?")
	if strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") {
		out.Opaque = path // one with // a path with // would be written with the host in front of it
	}
}

// Keeps reports whether the target of a request can be sent unchanged. net/http escapes
// odd characters in a path that begins with //.
func Keeps(r *http.Request) bool {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return !strings.HasPrefix(path, "//") || r.URL.EscapedPath() == path
}

// Cookies returns the cookies of a request without ours, as one line.
func Cookies(h http.Header, ours func(name string) bool) string {
	var kept []string
	for _, line := range h["Cookie"] {
		for pair := range strings.SplitSeq(line, ";") {
			name, _, _ := strings.Cut(pair, "=")
			if pair = strings.Trim(pair, " \t"); pair != "" && !ours(strings.Trim(name, " \t")) {
				kept = append(kept, pair)
			}
		}
	}
	return strings.Join(kept, "; ")
}

// modify removes our cookies, and announced trailers that are forbidden, from an answer.
// If the program does not set Cache-Control, modify also keeps the answer out of shared
// caches, since it may be for one user (RFC 9111 section 3).
func (p *Proxy) modify(answer *http.Response) error {
	var kept []string
	for _, line := range answer.Header["Set-Cookie"] {
		name, _, _ := strings.Cut(line, "=")
		if name = strings.Trim(name, " \t"); !p.OurCookie(name) {
			kept = append(kept, line)
			continue
		}
		if !p.told.Swap(true) {
			p.Dropped(name)
		}
	}
	if answer.Header["Set-Cookie"] != nil {
		answer.Header["Set-Cookie"] = kept
	}
	maps.DeleteFunc(answer.Trailer, forbiddenTrailer)
	if len(answer.Header["Cache-Control"]) == 0 && answer.StatusCode != http.StatusSwitchingProtocols {
		answer.Header["Cache-Control"] = []string{"private"}
	}
	return nil
}

// forbiddenTrailer reports whether an answer must not have a header as a trailer: cookies
// would bypass modify, and net/http only checks the trailers that were announced.
func forbiddenTrailer(name string, _ []string) bool {
	name = http.CanonicalHeaderKey(strings.TrimPrefix(name, http.TrailerPrefix))
	return name == "Set-Cookie" || name == "Upgrade" || !httpguts.ValidTrailerHeader(name)
}

// failed answers if the program fails.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil || errors.Is(err, errSlow) { // the client has gone, or is too slow
		panic(http.ErrAbortHandler)
	}
	status := http.StatusBadGateway
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		status = http.StatusGatewayTimeout
	}
	p.Failed(w, r, status, err)
}
