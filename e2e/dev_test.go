package e2e

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"authsvc/internal/dev"
	"authsvc/internal/test/chromium"
	"authsvc/internal/test/freeport"
)

// startDev runs `authsvc dev` and returns its origin and the issuer.
func startDev(t *testing.T) (origin, issuer string) {
	t.Helper()
	requested(t, "Node and Chromium")
	return runDev(t, "")
}

// runDev runs `authsvc dev --url front`, or without --url. It returns dev's own address
// and the issuer.
func runDev(t *testing.T, front string) (at, issuer string) {
	t.Helper()
	port := twoPorts(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	started, out := io.Pipe()
	go func() {
		done <- dev.Run(ctx, dev.Options{Dir: t.TempDir(), Port: port, Host: "localhost", URL: front, Out: out,
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

// twoPorts returns a free port whose successor is also free.
func twoPorts(t *testing.T) int {
	t.Helper()
	port, err := freeport.Pick(2)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestDevPages visits the pages that `authsvc dev` shows during a sign-in.
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
	look("home", "You are not signed in", "What your code sees")
	b.Open(origin + "/inbox")
	look("inbox-empty", "The inbox is empty")

	b.Open(issuer)
	look("people-list", "People who can sign in")
	b.Open(issuer + "/authorize?client_id=nobody")
	look("people-error", "Received:")

	b.Open(origin + "/api/auth/signin?callbackUrl=%2F")
	look("signin", "Sign in to Your application", "Sign in with Dev ID")
	b.Click(".p-dev button")
	b.At(issuer)
	look("people", "Who signs in to your application?", "Ada Lovelace")
	b.Click("summary")
	look("people-new", "Someone else")
	b.Fill("#name", "Joan Clarke")
	b.Click("button[name=add]")
	b.At(origin)
	look("home-signed-in", "Signed in", "Joan Clarke")
	b.Click("label[for=tab-go]")
	b.Wait(`document.querySelector(".for-go").checkVisibility() && !document.querySelector(".for-react").checkVisibility()`)
	look("home-go", "A complete program")
	b.Click("a[href$='/signout']")
	b.At(origin + "/api/auth/signout")
	b.Click("#submitButton")
	b.Wait(`location.pathname === "/" && document.readyState === "complete"`)

	b.Open(origin + "/api/auth/signin?callbackUrl=%2F")
	b.Fill("input[name=email]", "grace@example.com")
	b.Click("#submitButton")
	b.At(origin + "/api/auth/verify-request")
	look("verify-request", "Open the inbox", "Enter the code from the email")
	b.Click("a[href$='/inbox']")
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

// TestDevScripts checks the scripts of dev's pages: the inbox shows a new mail, the
// link in the mail opens in the whole window, and snippets are copied.
func TestDevScripts(t *testing.T) {
	t.Parallel()
	origin, _ := startDev(t)
	b := newTab(t)
	b.Open(origin + "/inbox")
	b.Shows("The inbox is empty")
	other := b.Sibling()
	other.Open(origin + "/api/auth/signin?callbackUrl=%2F")
	other.Fill("input[name=email]", "grace@example.com")
	other.Click("#submitButton")
	other.At(origin + "/api/auth/verify-request")
	b.Wait(`document.readyState === "complete" && document.querySelector("iframe.mail")?.getBoundingClientRect().height > 100`)
	b.Click("pre[aria-label='The code in this mail'] ~ .copy")
	b.Wait(`["Copied", "Selected"].includes(document.querySelector("pre[aria-label='The code in this mail'] ~ .copy").textContent)`)
	openByKeyboard(b)
	b.Shows("Signed in", "grace@example.com")
	b.Click("pre[aria-label='Session object'] ~ .copy")
	b.Wait(`["Copied", "Selected"].includes(document.querySelector("pre[aria-label='Session object'] ~ .copy").textContent)`)
	b.Quiet()
}

// openByKeyboard opens the link in the frame of a mail. The browser drops keys before
// the frame has painted, so it presses them until they work.
func openByKeyboard(b *chromium.Tab) {
	b.T.Helper()
	for end := time.Now().Add(chromium.Patience); time.Now().Before(end); {
		b.Script(`document.querySelector("a.primary").focus() ?? true`, new(bool))
		b.Key("\t")
		b.Key("\r")
		for range 20 {
			if time.Sleep(100 * time.Millisecond); !strings.Contains(b.URL(), "/inbox") {
				b.Wait(`location.pathname === "/" && document.readyState === "complete"`)
				return
			}
		}
	}
	b.T.Fatal("the link in the mail does not open in the whole window")
}
