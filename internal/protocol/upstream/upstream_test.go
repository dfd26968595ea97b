package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"authsvc/internal/test/freeport"
)

// front starts a server that forwards to a program, which must answer within timeout.
func front(t *testing.T, target string, timeout time.Duration) *httptest.Server {
	t.Helper()
	parsed, err := Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p := New(Options{Target: parsed, Timeout: timeout, Budget: NewBudget(100), OurCookie: func(name string) bool { return name == "ours" }, Dropped: func(string) {},
		Failed: func(w http.ResponseWriter, _ *http.Request, status int, err error) {
			http.Error(w, err.Error(), status)
		}})
	t.Cleanup(p.CloseIdleConnections)
	s := httptest.NewServer(through(p))
	t.Cleanup(s.Close)
	return s
}

// through returns a handler that passes all requests on.
func through(p *Proxy) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		p.Pass(w, r.WithContext(ctx), Sender{Address: "192.0.2.1", Origin: "https://" + r.Host}, cancel)
	})
}

func program(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func get(t *testing.T, url string) (*http.Response, string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if errors.Is(err, io.EOF) { // the connection ended before an answer
		return &http.Response{}, "", err
	}
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return answer, string(body), err
}

func TestParse(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]Target{"http://127.0.0.1:8080": {Origin: "http://127.0.0.1:8080"}, "https://App.example/": {Origin: "https://app.example"}, "unix:/run/a.sock": {Socket: "/run/a.sock"}} {
		if got, err := Parse(raw); err != nil || got != want {
			t.Errorf("%s: %v, %v", raw, got, err)
		}
	}
	for _, raw := range []string{"", "localhost:80", "http://", "ftp://a", "http://a/path", "http://a?b", "http://u:p@a", "unix:", "unix:a.sock", "unix:/a\x00b"} {
		if got, err := Parse(raw); err == nil {
			t.Errorf("%q is %v", raw, got)
		}
	}
}

// TestFaults checks that a program that is down, slow, lying or huge never counts as
// one that has answered.
func TestFaults(t *testing.T) {
	t.Parallel()
	hijacked := func(answer string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				io.WriteString(c, answer)
				c.Close()
			}
		}
	}
	for name, tt := range map[string]struct {
		target string
		status int
		whole  bool // the body arrives as far as it is announced
	}{
		"down":                       {"http://" + freeport.Refusing(t), 502, true},
		"no socket":                  {"unix:" + filepath.Join(t.TempDir(), "no.sock"), 502, true},
		"slow":                       {program(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), 504, true},
		"says nothing":               {program(t, hijacked("")), 502, true},
		"not HTTP":                   {program(t, hijacked("SSH-2.0-x\r\n\r\n")), 502, true},
		"a huge header":              {program(t, hijacked("HTTP/1.1 200 OK\r\nX: "+strings.Repeat("a", 1<<20)+"\r\n\r\n")), 502, true},
		"shorter than announced":     {program(t, hijacked("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"+strings.Repeat("a", 50000))), 200, false},
		"cut before the first flush": {program(t, hijacked("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")), 0, false},
		"a cut chunk":                {program(t, hijacked("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc")), 200, false},
		"odd switching":              {program(t, hijacked("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")), 502, true},
		"switching to nothing":       {program(t, hijacked("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n")), 502, true},
		"answers":                    {program(t, hijacked("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")), 200, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if name == "slow" {
				timeout = time.Second
			}
			answer, _, err := get(t, front(t, tt.target, timeout).URL)
			if answer.StatusCode != tt.status || (err == nil) != tt.whole {
				t.Errorf("%d, %v", answer.StatusCode, err)
			}
		})
	}
}

// TestEarlyHints checks that of the answers before the final one only 103 passes, and of
// its header only Link.
func TestEarlyHints(t *testing.T) {
	t.Parallel()
	behind := front(t, program(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, status := range []int{http.StatusProcessing, http.StatusEarlyHints} {
			w.Header().Set("Link", fmt.Sprintf("</%d.css>; rel=preload", status))
			w.Header().Set("X-Early", "1")
			w.WriteHeader(status)
		}
		w.Header().Del("Link")
		w.WriteHeader(http.StatusOK)
	}), time.Minute)
	var early []string
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(status int, h textproto.MIMEHeader) error {
		early = append(early, fmt.Sprint(status, h))
		return nil
	}})
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, behind.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if want := []string{"103 map[Link:[</103.css>; rel=preload]]"}; !slices.Equal(early, want) {
		t.Errorf("early: %q, want %q", early, want)
	}
	if answer.StatusCode != http.StatusOK || len(answer.Header["Link"]) > 0 {
		t.Errorf("%d %v", answer.StatusCode, answer.Header)
	}
}

// TestStreams checks that an exchange longer than the server's deadlines continues, in
// both directions, and arrives piece by piece.
func TestStreams(t *testing.T) {
	t.Parallel()
	const pause = 12 * time.Second
	synctest.Test(t, func(t *testing.T) {
		front, stop := between(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			control := http.NewResponseController(w)
			_, _ = control.SetReadDeadline(time.Time{}), control.SetWriteDeadline(time.Time{})
			lines := bufio.NewScanner(r.Body)
			for n := 0; lines.Scan(); n++ {
				if n == 2 {
					break
				}
			}
			for i := range 4 {
				fmt.Fprintf(w, "data: %d\n", i)
				_ = control.Flush()
				time.Sleep(pause)
			}
		}), asItIs)
		defer stop()
		in, out := io.Pipe()
		go func() {
			for range 3 {
				io.WriteString(out, "line\n")
				time.Sleep(pause)
			}
			out.Close()
		}()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://app.example/", in)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{DialContext: front.dial}}
		defer client.CloseIdleConnections()
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || strings.Count(string(body), "data") != 4 {
			t.Errorf("%q, %v", body, err)
		}
	})
}

// TestContextEndsWebSocket checks that an upgraded connection works in both directions,
// and ends with the context of its request.
func TestContextEndsWebSocket(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var cancel atomic.Value
		front, stop := between(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") != "websocket" {
				http.Error(w, "no upgrade", http.StatusBadRequest)
				return
			}
			w.Header().Set("Upgrade", "websocket")
			w.Header().Set("Connection", "Upgrade")
			w.WriteHeader(http.StatusSwitchingProtocols)
			c, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return
			}
			defer c.Close()
			_ = c.SetDeadline(time.Time{})
			_, _ = io.Copy(c, rw)
		}), func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, end := context.WithCancel(r.Context())
				cancel.Store(end)
				h.ServeHTTP(w, r.WithContext(ctx))
			})
		})
		defer stop()
		c, err := front.dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go io.WriteString(c, "GET /socket HTTP/1.1\r\nHost: app.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		read := bufio.NewReader(c)
		answer, err := http.ReadResponse(read, nil)
		if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("%v, %v", answer, err)
		}
		time.Sleep(40 * time.Second) // past the deadlines of the server
		go io.WriteString(c, "ping\n")
		if line, err := read.ReadString('\n'); line != "ping\n" {
			t.Fatalf("%q, %v", line, err)
		}
		cancel.Load().(context.CancelFunc)()
		if line, err := read.ReadString('\n'); err == nil {
			t.Errorf("the stream continues: %q", line)
		}
	})
}

// TestSocket checks that a program may listen on a Unix socket.
func TestSocket(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "s")
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Host+r.RequestURI) }), ReadHeaderTimeout: time.Minute}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	s := front(t, "unix:"+path, time.Minute)
	if answer, body, err := get(t, s.URL+"/a%2fb?c"); err != nil || answer.StatusCode != 200 || body != strings.TrimPrefix(s.URL, "http://")+"/a%2fb?c" {
		t.Errorf("%q, %v", body, err)
	}
}

// TestTargets checks that the program receives the target byte for byte.
func TestTargets(t *testing.T) {
	t.Parallel()
	s := front(t, program(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RequestURI) }), time.Minute)
	for _, target := range []string{"/", "/?", "/a?b", "/a%2fb%2F", "//a//b", "/a/../b/./c", "/%61;x=1/y", "/a?x=%zz&y;z&&", "/a'b|c^d", "/a?b?c#d", "/:80/x", "/http://evil.example/", "/@evil.example"} {
		var d net.Dialer
		c, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n", target)
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if c.Close(); err != nil || string(body) != target {
			t.Errorf("%s arrives as %q (%d, %v)", target, body, answer.StatusCode, err)
		}
	}
}

// TestCookies checks that our cookies are removed in both directions, whatever
// surrounds them.
func TestCookies(t *testing.T) {
	t.Parallel()
	p := New(Options{OurCookie: func(name string) bool { return name == "ours" }, Dropped: func(string) {}})
	for in, want := range map[string]string{"ours=1": "", "a=1; ours=2; b=3": "a=1; b=3", " ours =1;a=2": "a=2", "ours": "", "xours=1;ours=;;ours=a=b": "xours=1", "a=\"ours=1\"": "a=\"ours=1\"", "": ""} {
		if got := Cookies(http.Header{"Cookie": {in, "ours=second"}}, p.OurCookie); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	answer := &http.Response{Header: http.Header{"Set-Cookie": {"ours=1; Path=/", " ours =2", "a=1", "ours"}}}
	if err := p.modify(answer); err != nil || strings.Join(answer.Header["Set-Cookie"], "|") != "a=1" {
		t.Errorf("%q, %v", answer.Header["Set-Cookie"], err)
	}
}
