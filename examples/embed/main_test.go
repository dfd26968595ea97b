package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"

	"authsvc"
	"authsvc/engine"
)

// pipes is a listener with in-memory connections.
type pipes struct {
	conns  chan net.Conn
	closed context.Context
	close  context.CancelFunc
}

func (p pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed.Done():
		return nil, net.ErrClosed
	}
}

func (p pipes) Close() error { p.close(); return nil }

func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestServe checks that at shutdown a request in progress is answered before serve
// returns, and that the engine is then closed. A failing listener also ends serve.
func TestServe(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]bool{"told to": false, "listener": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { testServe(t, fails) })
		})
	}
}

func testServe(t *testing.T, fails bool) {
	auth, err := engine.New(authsvc.Config{
		URL: "http://localhost:8080", Secrets: []string{"qS8vV3nYc0mZ1rT5uX7wA9bD2eF4gH6jK8lM0nP2qR4"},
		Logger: slog.New(slog.DiscardHandler),
		Providers: []authsvc.Provider{&authsvc.Credentials{
			Authorize: func(context.Context, map[string]string) (authsvc.User, error) { return authsvc.User{ID: "7"}, nil },
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	finish := make(chan struct{})
	slow := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-finish
		fmt.Fprint(w, "done")
	})
	l := pipes{conns: make(chan net.Conn)}
	l.closed, l.close = context.WithCancel(t.Context())
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l, slow, auth) }()

	browser, server := net.Pipe()
	defer browser.Close()
	l.conns <- server
	if _, err := io.WriteString(browser, "GET / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	if fails {
		l.close()
	} else {
		stop()
	}
	synctest.Wait()
	select {
	case err := <-ended:
		t.Fatalf("it ended with %v while a request was in progress", err)
	default:
	}
	close(finish)
	answer, err := http.ReadResponse(bufio.NewReader(browser), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); string(text) != "done" || err != nil {
		t.Errorf("the request was answered %q, %v", text, err)
	}
	if err := <-ended; (err != nil) != fails {
		t.Errorf("it ended with %v", err)
	}
}
