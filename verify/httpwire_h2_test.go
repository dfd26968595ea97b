package verify

import (
	"bytes"
	"crypto/tls"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// An h2 is a connection that exchanges HTTP/2 frames.
type h2 struct {
	*http2.Framer
	conn  *tls.Conn
	block bytes.Buffer
	enc   *hpack.Encoder
}

func h2Dial(t testing.TB, server *httptest.Server) *h2 {
	t.Helper()
	c, err := tls.Dial("tcp", server.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	if _, err := c.Write([]byte(http2.ClientPreface)); err != nil {
		t.Fatal(err)
	}
	h := &h2{Framer: http2.NewFramer(c, c), conn: c}
	h.enc, h.ReadMetaHeaders = hpack.NewEncoder(&h.block), hpack.NewDecoder(4096, nil)
	if err := h.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	return h
}

// fields encodes a request with additional fields, names and values.
func (h *h2) fields(more ...string) []byte {
	h.block.Reset()
	all := append([]string{":method", "GET", ":scheme", "https", ":authority", "app.test", ":path", "/api/auth/session"}, more...)
	for i := 0; i+1 < len(all); i += 2 {
		h.enc.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]}) //nolint:errcheck // into memory
	}
	return bytes.Clone(h.block.Bytes())
}

func (h *h2) request(stream uint32, end bool, more ...string) error {
	return h.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: h.fields(more...), EndStream: true, EndHeaders: end})
}

// answer reads frames until the stream has headers, and returns the status, or 0 if
// it or the connection ends.
func (h *h2) answer(stream uint32) int {
	for {
		f, err := h.ReadFrame()
		if err != nil {
			return 0
		}
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			if f.StreamID == stream {
				status, _ := strconv.Atoi(f.PseudoValue("status"))
				return status
			}
		case *http2.RSTStreamFrame:
			if f.StreamID == stream {
				return 0
			}
		case *http2.GoAwayFrame:
			return 0
		}
	}
}

// until writes until the other side ends the connection or n writes are done. It
// returns the number of writes.
func until(n int, write func(i int) error) int {
	for i := range n {
		if write(i) != nil {
			return i
		}
	}
	return n
}

func heapNow() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// httpwire13 floods a TLS server whose handler is the engine. The binary does not
// speak HTTP/2, as httpwire-19 checks.
func httpwire13(t *T) {
	w := t.Enter(nil)
	server := httptest.NewUnstartedServer(w)
	server.EnableHTTP2 = true
	server.Config.MaxHeaderBytes = 32 << 10
	server.Config.ErrorLog = nil
	server.StartTLS()
	defer server.Close()
	a := h2Attack{server: server, frames: t.Scale("frames at most per flood", 20_000, 500_000, 3_000_000)}
	a.others(t)
	a.calm = runtime.NumGoroutine()
	t.Run("rapid reset", a.rapidReset)
	t.Run("CONTINUATION", a.continuation)
	if theScale() >= ci {
		t.Run("SETTINGS, answers unread", a.settings)
		t.Run("PING, answers unread", a.ping)
	}
	a.fields(t)
	server.CloseClientConnections()
	for deadline := time.Now().Add(patience); runtime.NumGoroutine() > a.calm+10; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%d goroutines are left, %d before", runtime.NumGoroutine(), a.calm)
			break
		}
	}
}

// An h2Attack floods a server with frames.
type h2Attack struct {
	server *httptest.Server
	frames int // maximum in one flood
	calm   int // goroutines before the flood
}

// others checks that other clients are served during the flood.
func (a h2Attack) others(t *T) {
	t.Helper()
	began := time.Now()
	res, err := a.server.Client().Get(a.server.URL + "/api/auth/session")
	if err != nil || res.StatusCode != 200 || res.ProtoMajor != 2 || time.Since(began) > within(2*time.Second) {
		t.Errorf("others: %v after %v", err, time.Since(began))
		return
	}
	res.Body.Close()
}

// ended checks that the server cut a flood off before all its frames were sent.
func (a h2Attack) ended(t *T, what string, sent int) {
	t.Helper()
	if sent >= a.frames {
		t.Errorf("%d %s and the connection lives", sent, what)
	}
	t.Figure("%s: ended after %d", what, sent)
	a.others(t)
}

func (a h2Attack) rapidReset(t *T) {
	h := h2Dial(t, a.server)
	go func() { // answers are read
		for {
			if _, err := h.ReadFrame(); err != nil {
				return
			}
		}
	}()
	sent := until(min(a.frames, 100_000), func(i int) error {
		id := uint32(2*i + 1)
		if err := h.request(id, true); err != nil {
			return err
		}
		return h.WriteRSTStream(id, http2.ErrCodeCancel)
	})
	t.Figure("%d streams reset", sent)
	a.others(t)
	if now := runtime.NumGoroutine(); now > a.calm+500 {
		t.Errorf("%d goroutines, %d before", now, a.calm)
	}
}

func (a h2Attack) continuation(t *T) {
	h := h2Dial(t, a.server)
	if err := h.request(1, false); err != nil {
		t.Fatal(err)
	}
	junk := h.fields("x-junk", strings.Repeat("x", 1000))
	a.ended(t, "CONTINUATION frames", until(a.frames, func(int) error { return h.WriteContinuation(1, false, junk) }))
}

// settings floods with SETTINGS frames. One acknowledgement covers all outstanding
// ones, so nothing accumulates and the connection may continue.
func (a h2Attack) settings(t *T) {
	h, before := h2Dial(t, a.server), heapNow()
	sent := until(a.frames, func(int) error { return h.WriteSettings() })
	grown := (int64(heapNow()) - int64(before)) >> 20
	if grown > 16 {
		t.Errorf("%d MB more", grown)
	}
	t.Figure("%d SETTINGS: %d MB more", sent, grown)
	a.others(t)
}

func (a h2Attack) ping(t *T) {
	h := h2Dial(t, a.server)
	a.ended(t, "PINGs", until(a.frames, func(int) error { return h.WritePing(false, [8]byte{}) }))
}

// fields sends header fields that HTTP/2 forbids, and one that it allows.
func (a h2Attack) fields(t *T) {
	for _, field := range [][2]string{{"x-a", "b\r\nx-c: d"}, {"x-a", "b\nc"}, {"x-a", "b\x00c"}, {"x-a\r\nx-b", "c"}, {"X-Upper", "a"}, {"connection", "close"}, {"transfer-encoding", "chunked"}, {":path", "/again"}} {
		h := h2Dial(t, a.server)
		if err := h.request(1, true, field[0], field[1]); err != nil {
			t.Fatal(err)
		}
		if status := h.answer(1); status != 0 && status != 400 {
			t.Errorf("%q is answered with %d", field, status)
		}
	}
	if h := h2Dial(t, a.server); h.request(1, true, "x-a", "b") != nil || h.answer(1) != 200 {
		t.Error("twin: a field in order is not answered")
	}
}
