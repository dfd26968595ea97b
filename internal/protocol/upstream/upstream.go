// Package upstream forwards requests to a program as they came, for as long as it
// and the client go on.
package upstream

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"authsvc/internal/protocol/weburl"
)

// Bounds of one request.
const (
	dialTimeout = 5 * time.Second
	// stallTimeout is how long nothing of a request's body may come, however much has.
	stallTimeout = time.Minute
	maxHeader    = 256 << 10 // bytes of an answer's header
	maxIdle      = 100       // connections
	// flushAfter is how long a piece of an answer waits for the next one. A short answer
	// goes out in one write by it; what has no length, or is a stream of events, does
	// not wait at all.
	flushAfter = 5 * time.Millisecond
)

// A Target is where a program listens.
type Target struct {
	Origin string // scheme://host[:port], empty for a socket
	Socket string // path of a Unix socket
}

// errTarget: it is neither.
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

// Options of a Proxy.
type Options struct {
	Target  Target
	Timeout time.Duration // until the header of the answer
	// Budget has room for each request, of a network by the name that Network gives it.
	Budget  *Budget
	Network func(*http.Request) string
	// OurCookie reports whether a cookie is not the program's business: it is taken
	// out of requests, and not taken from answers; Dropped is told of the first.
	OurCookie func(name string) bool
	Dropped   func(name string)
	// Client is the address of the client, empty if unknown, and Origin that which a
	// Host header names.
	Client func(*http.Request) string
	Origin func(host string) string
	// Failed answers for a program that did not: with 502, or 504 if it took too
	// long; with 503 if the Budget has no room.
	Failed func(w http.ResponseWriter, r *http.Request, status int, err error)
}

// A Proxy is the handler of one program.
type Proxy struct {
	Options
	proxy     *httputil.ReverseProxy
	transport *http.Transport
	told      atomic.Bool
}

// New makes a proxy. It follows no redirects, asks no other proxy, keeps no answer
// back and changes no body.
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
	p.proxy = &httputil.ReverseProxy{Rewrite: p.rewrite, Transport: p.transport, FlushInterval: flushAfter, ModifyResponse: p.modify, BufferPool: buffers{},
		ErrorHandler: p.failed, ErrorLog: log.New(io.Discard, "", 0)}
	return p
}

// buffers are what bodies are copied by. Each Get would else be 32 KiB of garbage for a
// page of 1 KiB.
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

// ServeHTTP implements [http.Handler]. It replaces the deadlines of the server by
// such that let a stream go on, as long as the client is not too slow.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	limits := &deadlines{control: http.NewResponseController(w)}
	passing := p.Budget.enter(p.Network(r), func() { cancel(); limits.end() })
	if passing == nil {
		w.Header().Set("Connection", "close") // what else it sends takes a connection from others
		limits.read(time.Now().Add(time.Second), true)
		p.Failed(w, r, http.StatusServiceUnavailable, ErrBusy)
		return
	}
	defer p.Budget.leave(passing)
	r = r.WithContext(ctx)
	limits.write(time.Time{})
	limits.read(time.Time{}, false)
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &patientBody{ReadCloser: r.Body, limits: limits, passing: passing, budget: p.Budget, stream: r.ContentLength < 0}
		// The server does not read on for ever in a body that the program did not want.
		defer func() { limits.read(time.Now().Add(grace), true) }()
	}
	w.Header().Del("Cache-Control") // the program's business
	out := newWriter(w, limits, passing)
	p.proxy.ServeHTTP(out, r)
	out.last()
}

// A patientBody may take its time as long as enough comes.
type patientBody struct {
	io.ReadCloser
	limits  *deadlines
	passing *passing
	budget  *Budget
	stream  bool // of no announced length: it may pause, as long as there is room for others
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
	// After an error the server waits for the client to go, and before the next read, with
	// HTTP/2, the time of a program that does not read counts.
	b.limits.read(time.Time{}, err != nil)
	return n, err
}

// rewrite addresses the request to the program.
func (p *Proxy) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme, r.Out.URL.Host, _ = strings.Cut(p.Target.Origin, "://")
	if p.Target.Socket != "" {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", "socket"
	}
	r.Out.Host = r.In.Host
	keepTarget(r)
	scheme, authority, _ := strings.Cut(p.Origin(r.In.Host), "://")
	r.Out.Header["X-Forwarded-Host"], r.Out.Header["X-Forwarded-Proto"] = []string{authority}, []string{scheme}
	if ip := p.Client(r.In); ip != "" {
		r.Out.Header["X-Forwarded-For"], r.Out.Header["X-Real-Ip"] = []string{ip}, []string{ip}
	}
	cookies := Cookies(r.Out.Header, p.OurCookie)
	delete(r.Out.Header, "Cookie")
	if cookies != "" {
		r.Out.Header["Cookie"] = []string{cookies}
	}
	if _, ok := r.Out.Header["User-Agent"]; !ok {
		r.Out.Header["User-Agent"] = nil // or the transport sends its own
	}
}

// keepTarget sends the path and the query as they came: what was judged is what the
// program gets.
func keepTarget(r *httputil.ProxyRequest) {
	in, out := r.In.URL, r.Out.URL
	out.RawQuery, out.ForceQuery = in.RawQuery, in.ForceQuery
	path, _, _ := strings.Cut(r.In.RequestURI, "?")
	if strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") {
		out.Opaque = path // one with // would be written with the host in front of it
	}
}

// Keeps reports whether the target of a request can be sent as it came: net/http
// escapes what is odd in a path that begins with //.
func Keeps(r *http.Request) bool {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return !strings.HasPrefix(path, "//") || r.URL.EscapedPath() == path
}

// Cookies are those of a request without ours, as one line.
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

var errUnasked = errors.New("it changed the protocol unasked")

// modify takes our cookies out of an answer, and keeps what is for one person out of
// shared caches, if the program says nothing of them (RFC 9111 section 3).
func (p *Proxy) modify(answer *http.Response) error {
	if answer.StatusCode == http.StatusSwitchingProtocols && (answer.Request == nil || len(answer.Request.Header["Upgrade"]) == 0) {
		return errUnasked
	}
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
	if len(answer.Header["Cache-Control"]) == 0 && answer.StatusCode != http.StatusSwitchingProtocols {
		answer.Header["Cache-Control"] = []string{"private"}
	}
	return nil
}

// failed answers for a program that did not.
func (p *Proxy) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil || errors.Is(err, errSlow) { // the client has gone, or may not go on
		panic(http.ErrAbortHandler)
	}
	status := http.StatusBadGateway
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		status = http.StatusGatewayTimeout
	}
	p.Failed(w, r, status, err)
}
