package verify

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"time"

	"authsvc/internal/test/process"
)

// A streamingProgram sends a download of a given size, or events until the client
// goes.
func streamingProgram(t *T) *gatedProgram {
	p := &gatedProgram{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/download":
			size := int64(0)
			fmt.Sscan(r.URL.Query().Get("bytes"), &size)
			w.Header().Set("Content-Length", fmt.Sprint(size))
			io.CopyN(w, zeros{}, size) //nolint:errcheck // the client may go
		case "/events":
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: hello\n\n")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		default:
			p.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() { p.CloseClientConnections(); p.Close() })
	return p
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// An openStream is a user's WebSocket or event stream.
type openStream struct {
	name  string
	r     *bufio.Reader
	ended chan time.Time
}

// openStreams opens one stream of each kind and waits for their ends.
func openStreams(t *T, s *gatedSite, cookies string) (all []*openStream) {
	t.Helper()
	for name, request := range map[string]string{
		"a WebSocket":     "GET /socket HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: " + s.origin + "\r\n",
		"an event stream": "GET /events HTTP/1.1\r\nAccept: text/event-stream\r\n",
	} {
		c := s.dial(t)
		_ = c.SetDeadline(time.Now().Add(5 * time.Minute))
		io.WriteString(c, request+"Host: "+s.host()+"\r\nCookie: "+cookies+"\r\n\r\n") //nolint:errcheck // the answer shows it
		o := &openStream{name, bufio.NewReader(c), make(chan time.Time, 1)}
		res, err := http.ReadResponse(o.r, nil)
		if err != nil || res.StatusCode != 101 && res.StatusCode != 200 {
			t.Fatalf("%s: %v %v", name, res, err)
		}
		go func() { io.Copy(io.Discard, o.r); o.ended <- time.Now() }() //nolint:errcheck // only its end counts
		all = append(all, o)
	}
	return all
}

// gate16 checks that open streams live as long as the session and no longer, and that
// a shutdown ends them.
func gate16(t *T) {
	s := &gatedSite{Neighbours: process.NewNeighbours(t), program: "upstream", app: streamingProgram(t)}
	s.Process = process.Serve(t, s.YAML("gate:\n  recheck: 5s\n  hosts:\n    - {origin: \"{origin}\", upstream: "+s.app.URL+"}\n"), "AUTHSVC_STORAGE_URL=memory:")
	s.origin = s.URL
	ada, grace := s.signedIn(t, "ada"), s.signedIn(t, "grace")
	streams, others := openStreams(t, s, s.cookies(ada)), openStreams(t, s, s.cookies(grace))
	size := int64(t.Scale("MB downloaded", 16, 256, 1024)) << 20
	begun := time.Now()
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.origin+fmt.Sprintf("/download?bytes=%d", size), nil)
	if err != nil {
		t.Fatal(err)
	}
	grace.Client.Timeout = 0
	res, err := grace.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	slow := &slowReader{Reader: res.Body, size: size, over: 12 * time.Second} // longer than two rechecks
	n, err := io.Copy(io.Discard, slow)
	res.Body.Close()
	if n != size || err != nil {
		t.Errorf("a download of %d bytes ended after %d, %v: %v", size, n, time.Since(begun), err)
	}
	for _, o := range append(streams, others...) {
		select {
		case at := <-o.ended:
			t.Errorf("%s ended after %v", o.name, at.Sub(begun))
		default:
		}
	}
	out := time.Now()
	if err := ada.SignOut(); err != nil {
		t.Fatal(err)
	}
	for _, o := range streams {
		select {
		case at := <-o.ended:
			t.Figure("%s ends %v after the sign-out", o.name, at.Sub(out).Round(time.Second))
			if at.Sub(out) > 10*time.Second {
				t.Errorf("%s ended %v after the sign-out", o.name, at.Sub(out))
			}
		case <-time.After(30 * time.Second):
			t.Errorf("%s lives on", o.name)
		}
	}
	for _, o := range others {
		if len(o.ended) > 0 {
			t.Errorf("%s of another user has ended", o.name)
		}
	}
	stop := time.Now()
	s.Signal(syscall.SIGTERM)
	if code := s.Wait(time.Minute); code != 0 {
		t.Errorf("the stop ends with %d", code)
	}
	t.Figure("the stop takes %v", time.Since(stop).Round(time.Second))
	if took := time.Since(stop); took > 30*time.Second {
		t.Errorf("the stop took %v", took)
	}
	if !strings.Contains(s.Logs.String(), "service.stopped") {
		t.Error("the stop is not in the log")
	}
}

// A slowReader spreads size bytes over a period.
type slowReader struct {
	io.Reader
	size int64
	over time.Duration
	owed time.Duration
}

func (r *slowReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if r.owed += time.Duration(float64(r.over) * float64(n) / float64(r.size)); r.owed > 100*time.Millisecond {
		time.Sleep(r.owed)
		r.owed = 0
	}
	return n, err
}
