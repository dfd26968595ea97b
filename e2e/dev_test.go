package e2e

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"authsvc/internal/dev"
	"authsvc/internal/test/freeport"
)

// startDev runs `authsvc dev` and returns its origin and the issuer.
func startDev(t *testing.T) (origin, issuer string) {
	t.Helper()
	requested(t, "Node and Chromium")
	port := twoPorts(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	started, out := io.Pipe()
	go func() {
		done <- dev.Run(ctx, dev.Options{Dir: t.TempDir(), Port: port, Host: "localhost", Out: out,
			Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
		out.Close()
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("dev: %v", err)
		}
	})
	var said strings.Builder
	for buf := make([]byte, 4096); !strings.Contains(said.String(), "Ctrl-C"); {
		n, err := started.Read(buf)
		said.Write(buf[:n])
		if err != nil {
			t.Fatalf("dev did not start: %v\n%s", err, said.String())
		}
	}
	go io.Copy(io.Discard, started) //nolint:errcheck // until the pipe is closed
	return "http://localhost:" + strconv.Itoa(port), "http://127.0.0.1:" + strconv.Itoa(port+1)
}

// twoPorts finds a free port whose successor is free too.
func twoPorts(t *testing.T) int {
	t.Helper()
	port, err := freeport.Pick(2)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestDevPages goes through what `authsvc dev` shows around a sign-in.
func TestDevPages(t *testing.T) {
	t.Parallel()
	origin, issuer := startDev(t)
	b := newTab(t)
	look := func(name string, shows ...string) {
		t.Helper()
		titled(t, b, shows...)
		inspect(t, b, "dev-"+name, origin, issuer)
	}
	b.Open(origin)
	look("home", "Nobody is signed in", "What your code sees")
	b.Open(origin + "/inbox")
	look("inbox-empty", "The inbox is empty")

	b.Open(issuer)
	look("people-list", "The people here")
	b.Open(issuer + "/authorize?client_id=nobody")
	look("people-error", "Received:")

	b.Open(origin + "/api/auth/signin?callbackUrl=%2F")
	look("signin", "Sign in to Your application", "Sign in with Dev ID")
	b.Click(".p-dev button")
	b.At(issuer)
	look("people", "Who signs in to your application?", "Ada Lovelace")
	b.Click("summary")
	look("people-new", "Somebody else")
	b.Fill("#name", "Joan Clarke")
	b.Click("button[name=add]")
	b.At(origin)
	look("home-signed-in", "Signed in", "Joan Clarke")
	b.Click(".primary")
	b.At(origin + "/api/auth/signout")
	b.Click("#submitButton")
	b.Wait(`location.pathname === "/" && document.readyState === "complete"`)

	b.Open(origin + "/api/auth/signin?callbackUrl=%2F")
	b.Fill("input[name=email]", "grace@example.com")
	b.Click("#submitButton")
	b.At(origin + "/api/auth/verify-request")
	look("verify-request", "Open the inbox")
	b.Click("a.primary")
	b.At(origin + "/inbox")
	look("inbox", "Sign in to Your application", "Open the link in this mail")
	b.Click("a.primary")
	b.Wait(`location.pathname === "/" && document.readyState === "complete"`)
	b.Shows("Signed in", "grace@example.com")
	b.Open(origin + "/inbox")
	b.Click("form button")
	b.Wait(`document.body.innerText.includes("The inbox is empty")`)
	b.Quiet()
}
