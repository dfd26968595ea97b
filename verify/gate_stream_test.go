package verify

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"authsvc/internal/test/browser"
	"authsvc/internal/test/process"
	"authsvc/internal/test/proxytest"
)

// A streamingProgram counts the bytes of an upload, and sends a download of a given
// size, or events until the client goes.
func streamingProgram(t *T) *gatedProgram {
	p := &gatedProgram{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch path.Base(r.URL.Path) {
		case "upload":
			n, _ := io.Copy(io.Discard, r.Body)
			w.Header().Set("X-Program", "asked")
			fmt.Fprint(w, n)
		case "download":
			size := int64(0)
			fmt.Sscan(r.URL.Query().Get("bytes"), &size)
			w.Header().Set("Content-Length", fmt.Sprint(size))
			io.CopyN(w, zeros{}, size) //nolint:errcheck // the client may go
		case "events":
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
		"a WebSocket":     "GET /live/socket HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nOrigin: " + s.origin + "\r\n",
		"an event stream": "GET /live/events HTTP/1.1\r\nAccept: text/event-stream\r\n",
	} {
		c := s.dial(t)
		_ = c.SetDeadline(time.Now().Add(5 * time.Minute))
		io.WriteString(c, request+"Host: "+s.host()+"\r\nCookie: "+cookies+"\r\n\r\n") //nolint:errcheck // the answer shows it
		o := &openStream{name, bufio.NewReader(c), make(chan time.Time, 1)}
		res, err := http.ReadResponse(o.r, nil)
		if err != nil || res.StatusCode != 101 && res.StatusCode != 200 {
			t.Fatalf("%s: %v %v", name, res, err)
		}
		if res.StatusCode == 200 { // the first event comes at once; the connection may outlive the answer
			o.r = bufio.NewReader(res.Body)
			if line, err := o.r.ReadString('\n'); line != "data: hello\n" {
				t.Fatalf("%s: %q %v", name, line, err)
			}
		}
		go func() { io.Copy(io.Discard, o.r); o.ended <- time.Now() }() //nolint:errcheck // only its end counts
		all = append(all, o)
	}
	return all
}

// endsStreams returns the changes of the documented files with which authsvc itself
// forwards the streams of the program at app, as the page on a proxy says.
func endsStreams(t *T, program, app string) gateTune {
	t.Helper()
	const origin = "- origin: " + site + "\n"
	said := proxytest.Blocks(t, gatePage("proxies"), "yaml")[0]
	upstream := "      upstream: http://127.0.0.1:8080\n"
	if !strings.Contains(said, origin+upstream) {
		t.Errorf("the page says\n%s", said)
	}
	tune := gateTune{app: app, yaml: []string{"gate:\n", "gate:\n  recheck: 5s\n", origin, origin + strings.Replace(upstream, "127.0.0.1:8080", app, 1)}}
	language := program
	if program == proxytest.Traefik {
		language = "yaml"
	}
	blocks := proxytest.Blocks(t, gatePage(program), language)
	more := blocks[len(blocks)-1]
	switch program {
	case "nginx":
		tune.proxy = []string{nginxRoutes, more + nginxRoutes}
	case "caddy":
		tune.proxy = []string{caddySite, more + caddySite}
	case "haproxy":
		lines, backend, _ := strings.Cut(more, "\nbackend ")
		asks, leads, _ := strings.Cut(lines, "    use_backend ")
		tune.proxy = []string{"    " + haproxyAsks + "\n", asks, haproxyOurs, "use_backend " + leads + "    " + haproxyOurs, "\nbackend app\n", "\nbackend " + backend + "\nbackend app\n"}
	case proxytest.Traefik:
		_, router, _ := strings.Cut(more, "routers:\n")
		tune.proxy = []string{traefikApp, traefikApp + router}
	}
	return tune
}

// gate16 checks that large bodies and long answers pass, and that open streams live as
// long as the session and no longer: without a proxy, and behind each one if authsvc
// forwards the streams, as the proxy's page says.
func gate16(t *T) {
	t.Run("upstream", func(t *T) {
		t.Parallel()
		s := &gatedSite{Neighbours: process.NewNeighbours(t), program: "upstream", app: streamingProgram(t)}
		s.Process = process.Serve(t, s.YAML("gate:\n  recheck: 5s\n  hosts:\n    - {origin: \"{origin}\", upstream: "+s.app.URL+"}\n"), "AUTHSVC_STORAGE_URL=memory:")
		s.origin = s.URL
		gateStreams(t, s)
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
	})
	eachGateProxy(t, func(t *T, program string) {
		t.Parallel()
		app := streamingProgram(t)
		s := startGated(t, program, endsStreams(t, program, app.Listener.Addr().String()))
		gateStreams(t, s)
	})
}

// gateStreams sends a large body, receives a large one and another for more than a
// minute, and meanwhile has streams open, which a sign-out then ends.
func gateStreams(t *T, s *gatedSite) {
	ada, grace := s.signedIn(t, "ada"), s.signedIn(t, "grace")
	grace.Client.Timeout = 0
	streams, others := openStreams(t, s, s.cookies(ada)), openStreams(t, s, s.cookies(grace))
	begun := time.Now()
	gateUploads(t, s, grace)
	var downloads sync.WaitGroup
	megabytes, seconds := t.Scale("MB downloaded", 16, 1024, 1024), t.Scale("s that another download takes", 2, 65, 65)
	for _, d := range []struct {
		size int64
		over time.Duration
	}{{int64(megabytes) << 20, 0}, {int64(seconds) << 18, time.Duration(seconds) * time.Second}} {
		downloads.Go(func() {
			began := time.Now()
			if n, err := downloaded(t, s, grace, d.size, d.over); n != d.size || err != nil {
				t.Errorf("a download of %d bytes ended after %d, %v: %v", d.size, n, time.Since(began), err)
			}
		})
	}
	downloads.Wait()
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
			t.Figure("%s: %s ends %v after the sign-out", s.program, o.name, at.Sub(out).Round(time.Second))
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
}

// gateUploads sends a body of 100 MB, which arrives only from a signed-in user. No proxy
// stores it, whether it arrives or not: else anyone could fill the disk.
func gateUploads(t *T, s *gatedSite, b *browser.Browser) {
	const size = 100_000_000
	for name, from := range map[string]*browser.Browser{"": b, "a signed-out ": s.person()} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.origin+"/upload", io.LimitReader(zeros{}, size))
		if err != nil {
			t.Fatal(err)
		}
		r.ContentLength = size
		res, err := from.Client.Do(r)
		if from != b {
			if err == nil && (res.StatusCode < 400 || res.Header.Get("X-Program") != "") {
				t.Errorf("a %supload: %d", name, res.StatusCode)
			}
			continue // the connection may also end before all is sent
		}
		if err != nil {
			t.Errorf("an upload: %v", err)
			continue
		}
		said, err := io.ReadAll(res.Body)
		res.Body.Close()
		if string(said) != fmt.Sprint(size) || err != nil {
			t.Errorf("an upload of %d bytes: %d %.300q, %v", size, res.StatusCode, said, err)
		}
	}
	if s.proxy != nil && strings.Contains(s.proxy.Logs.String(), "is buffered to a temporary file") {
		t.Errorf("%s stores uploads:\n%s", s.program, s.proxy.Logs)
	}
}

// downloaded receives size bytes over a period and returns how many came.
func downloaded(t *T, s *gatedSite, b *browser.Browser, size int64, over time.Duration) (int64, error) {
	r, err := http.NewRequestWithContext(t.Context(), "GET", s.origin+fmt.Sprintf("/download?bytes=%d", size), nil)
	if err != nil {
		return 0, err
	}
	res, err := b.Client.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return io.Copy(io.Discard, &slowReader{Reader: res.Body, size: size, over: over})
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
