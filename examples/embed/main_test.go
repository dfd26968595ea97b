package main

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"authsvc"
	"authsvc/engine"
	"authsvc/internal/test/browser"
	"authsvc/internal/test/freeport"
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

// TestDev signs in with -dev, which needs no variable and no file.
func TestDev(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	port, err := freeport.Pick(2) // the second is for the identity provider
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, listener, true) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()

	b := browser.New("http://localhost:"+strconv.Itoa(port), nil).Follow()
	open, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost:"+strconv.Itoa(port)+"/me", nil)
	if err != nil {
		t.Fatal(err)
	}
	open.Header.Set("Accept", "text/html") // like a browser that opens a page
	if a, err := b.Do(open); err != nil || !strings.Contains(a.Text, "/api/auth/signin/dev") {
		t.Fatalf("no sign-in page: %v, %v", a, err)
	}
	page, err := b.Post("/api/auth/signin/dev", "callbackUrl", "/me")
	if err != nil {
		t.Fatal(err)
	}
	action := regexp.MustCompile(`<form[^>]* action="([^"]+)"`).FindStringSubmatch(page.Text)
	if action == nil || !strings.Contains(page.Text, "Ada Lovelace") {
		t.Fatalf("no list of people: %s", page.Text)
	}
	to, err := page.Request.URL.Parse(html.UnescapeString(action[1]))
	if err != nil {
		t.Fatal(err)
	}
	if a, err := b.Form(to.String(), url.Values{"person": {"ada"}}); err != nil || !strings.Contains(a.Text, "You are Ada Lovelace") {
		t.Errorf("not signed in: %v, %v", a, err)
	}
	cookies := b.Client.Jar.Cookies(open.URL)
	if len(cookies) == 0 || slices.ContainsFunc(cookies, func(c *http.Cookie) bool { return !strings.HasPrefix(c.Name, "embed.") }) {
		t.Errorf("with the cookies %v, it cannot run beside authsvc dev", cookies)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("it left %v, %v", files, err)
	}
}

// TestWithoutVariables checks that without -dev the missing variables are named.
func TestWithoutVariables(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"AUTHSVC_SECRET", "GITHUB_ID", "GITHUB_SECRET"} {
		t.Setenv(name, "")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), listener, false); len(authsvc.ConfigErrors(err)) == 0 {
		t.Errorf("it ended with %v", err)
	}
}
