package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/dev"
)

// A runningServer has one request in flight. release ends the request.
type runningServer struct {
	server  *http.Server
	service *engine.Service
	release chan struct{}
	answer  chan string // the body of the response, or the error
}

func startRunningServer(t *testing.T) *runningServer {
	t.Helper()
	service, err := engine.New(authsvc.Config{URL: "http://localhost", Secrets: []string{testSecret},
		Providers: []authsvc.Provider{&authsvc.Credentials{Fields: []authsvc.Field{{Name: "user"}},
			Authorize: func(context.Context, map[string]string) (authsvc.User, error) { return authsvc.User{}, nil }}}})
	if err != nil {
		t.Fatal(err)
	}
	r := &runningServer{service: service, release: make(chan struct{}), answer: make(chan string, 1)}
	arrived := make(chan struct{})
	r.server = newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-r.release
		io.WriteString(w, "finished")
	}), slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go r.server.Serve(l)
	go func() {
		resp, err := http.Get("http://" + l.Addr().String())
		if err != nil {
			r.answer <- err.Error()
			return
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		r.answer <- string(body)
	}()
	<-arrived
	t.Cleanup(func() { r.server.Close() })
	return r
}

// TestShutdown: a request in flight is answered, and the shutdown returns no error.
func TestShutdown(t *testing.T) {
	t.Parallel()
	r := startRunningServer(t)
	p := &program{ctx: t.Context()}
	done := make(chan error, 1)
	go func() { done <- p.shutdown(r.server, r.service, nil) }()
	time.AfterFunc(50*time.Millisecond, func() { close(r.release) })
	if got := <-r.answer; got != "finished" {
		t.Errorf("the request in flight got %q", got)
	}
	if err := <-done; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// TestSecondSignal: a second signal ends the wait for requests in flight, with an error.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	r := startRunningServer(t)
	defer close(r.release)
	again := make(chan os.Signal, 1)
	again <- syscall.SIGTERM
	p := &program{ctx: t.Context(), stderr: io.Discard}
	err := p.shutdown(r.server, r.service, again)
	if err == nil || !strings.Contains(err.Error(), "second signal") {
		t.Fatalf("shutdown: %v", err)
	}
	if code := p.finish(err); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
}

// TestListen: the errors of listening, with a specific message for a port in use.
func TestListen(t *testing.T) {
	t.Parallel()
	l, err := listen(t.Context(), "127.0.0.1:0", "listen")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	for addr, want := range map[string]string{
		l.Addr().String(): fmt.Sprintf("is in use by another program: stop it, or set listen to another address, such as 127.0.0.1:%d", dev.OtherPort(port)),
		"192.0.2.1:3000":  "192.0.2.1:3000 is not an address of this machine: set listen to one that is",
		"127.0.0.1":       "cannot listen",
	} {
		if _, err := listen(t.Context(), addr, "listen"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", addr, err, want)
		}
	}
}

// TestOtherAddress: the address that the error of a port in use proposes.
func TestOtherAddress(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1:3000": " to another address, such as 127.0.0.1:3010",
		":3000":          " to another address, such as :3010",
		"[::1]:65530":    " to another address, such as [::1]:65520",
		"127.0.0.1:http": "",
	} {
		if got := otherAddress(addr); got != want {
			t.Errorf("%s: %q, want %q", addr, got, want)
		}
	}
}

// TestLocalAddress: the address to which a health check connects.
func TestLocalAddress(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"127.0.0.1:3000": "127.0.0.1:3000",
		"0.0.0.0:3000":   "localhost:3000",
		"[::]:3000":      "localhost:3000",
		":3000":          "localhost:3000",
		"10.0.0.5:80":    "10.0.0.5:80",
		"3000":           "",
	} {
		got, err := localAddress(listen)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", listen, got, err, want)
		}
	}
}
