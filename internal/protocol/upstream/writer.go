package upstream

import (
	"bufio"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"
)

// A writer may take long if enough bytes go out. Of informational answers, it passes on
// only the Link of a 103 (RFC 8297). It also keeps headers that were set before the
// program's answer, which [httputil.ReverseProxy] clears after an informational answer.
type writer struct {
	http.ResponseWriter
	limits  *deadlines
	before  http.Header // that were set before the answer
	cleared bool
	sent    bool        // the header
	trailer http.Header // set after the header was sent
	passing *passing
	pace    pace
}

func newWriter(w http.ResponseWriter, limits *deadlines, passing *passing) *writer {
	return &writer{ResponseWriter: w, limits: limits, passing: passing, before: w.Header().Clone()}
}

// Header implements [http.ResponseWriter]. After the header was sent, it returns the
// trailers: net/http copies the whole header if a handler asks for it then, which
// [httputil.ReverseProxy] does for every answer.
func (w *writer) Header() http.Header {
	if !w.sent {
		return w.ResponseWriter.Header()
	}
	if w.trailer == nil {
		w.trailer = http.Header{}
	}
	return w.trailer
}

// WriteHeader implements [http.ResponseWriter].
func (w *writer) WriteHeader(status int) {
	out := w.ResponseWriter.Header()
	if !w.sent && status >= 100 && status < 200 {
		if link := out["Link"]; status == http.StatusEarlyHints && len(link) > 0 {
			clear(out)
			out["Link"] = link
			w.limits.write(w.pace.deadline(time.Now(), buffered))
			w.ResponseWriter.WriteHeader(status)
		}
		w.cleared = true
		return
	}
	if !w.sent && w.cleared {
		for name, values := range w.before {
			now := out[name] // may repeat a value: an answer by [Options.Failed] sets its own
			missing := slices.DeleteFunc(slices.Clone(values), func(v string) bool { return slices.Contains(now, v) })
			out[name] = append(missing, now...)
		}
	}
	w.sent = true
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [io.Writer].
func (w *writer) Write(b []byte) (int, error) {
	if !w.sent {
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
	if !w.sent {
		w.WriteHeader(http.StatusOK)
	}
	begun := time.Now()
	w.limits.write(w.pace.deadline(begun, buffered))
	err := w.limits.control.Flush()
	w.limits.write(time.Time{})
	w.pace.went(0, begun)
	return err
}

// last sends the trailers that are allowed, and limits the time to send the rest after
// the handler is done.
func (w *writer) last() {
	if len(w.trailer) > 0 {
		maps.DeleteFunc(w.trailer, forbiddenTrailer)
		maps.Copy(w.ResponseWriter.Header(), w.trailer)
	}
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
