package upstream

import (
	"bufio"
	"net"
	"net/http"
	"time"
)

// A writer may take long if enough bytes go out. Of informational answers, it passes on
// only the Link of a 103 (RFC 8297). It also keeps headers that were set before the
// program's answer, which [httputil.ReverseProxy] clears after an informational answer.
type writer struct {
	http.ResponseWriter
	limits  *deadlines
	before  http.Header
	header  http.Header // of the answer, until it is sent
	cleared bool
	passing *passing
	pace    pace
}

func newWriter(w http.ResponseWriter, limits *deadlines, passing *passing) *writer {
	return &writer{ResponseWriter: w, limits: limits, passing: passing, before: w.Header().Clone(), header: w.Header().Clone()}
}

// Header implements [http.ResponseWriter].
func (w *writer) Header() http.Header {
	if w.header == nil {
		return w.ResponseWriter.Header() // for trailers
	}
	return w.header
}

// WriteHeader implements [http.ResponseWriter].
func (w *writer) WriteHeader(status int) {
	if w.header == nil {
		w.ResponseWriter.WriteHeader(status)
		return
	}
	out := w.ResponseWriter.Header()
	clear(out)
	if status >= 100 && status < 200 {
		if link := w.header["Link"]; status == http.StatusEarlyHints && len(link) > 0 {
			out["Link"] = link
			w.limits.write(w.pace.deadline(time.Now(), buffered))
			w.ResponseWriter.WriteHeader(status)
		}
		w.cleared = true
		return
	}
	if w.cleared {
		for name, values := range w.before {
			out[name] = append(out[name], values...)
		}
	}
	for name, values := range w.header {
		out[name] = append(out[name], values...)
	}
	w.header = nil
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [io.Writer].
func (w *writer) Write(b []byte) (int, error) {
	if w.header != nil {
		w.WriteHeader(http.StatusOK)
	}
	begun := time.Now()
	w.limits.write(w.pace.deadline(begun, len(b)))
	n, err := w.ResponseWriter.Write(b)
	w.limits.write(time.Time{}) // with HTTP/2, the deadline also applies between writes
	w.pace.went(n, begun)
	w.passing.bytes.Add(int64(n))
	return n, err
}

// buffered is how many bytes of an answer net/http may not have sent yet.
const buffered = 4 << 10

// FlushError is for [http.ResponseController].
func (w *writer) FlushError() error {
	if w.header != nil {
		w.WriteHeader(http.StatusOK)
	}
	begun := time.Now()
	w.limits.write(w.pace.deadline(begun, buffered))
	err := w.limits.control.Flush()
	w.limits.write(time.Time{})
	w.pace.went(0, begun)
	return err
}

// last limits the time to send the rest after the handler is done.
func (w *writer) last() {
	w.limits.write(w.pace.deadline(time.Now(), buffered))
}

// Hijack implements [http.Hijacker], for protocol upgrades.
func (w *writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, in, err := w.limits.control.Hijack()
	if err == nil {
		c = &tunnel{c, w.passing}
	}
	return c, in, err
}

// A tunnel counts the bytes that pass through it.
type tunnel struct {
	net.Conn
	passing *passing
}

// Read implements [net.Conn].
func (t *tunnel) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	t.passing.bytes.Add(int64(n))
	return n, err
}

// Write implements [net.Conn].
func (t *tunnel) Write(b []byte) (int, error) {
	n, err := t.Conn.Write(b)
	t.passing.bytes.Add(int64(n))
	return n, err
}

// Unwrap is for [http.ResponseController].
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
