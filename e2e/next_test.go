package e2e

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"authsvc"
	"authsvc/internal/test/chromium"
	"authsvc/internal/test/freeport"
	"authsvc/internal/test/logbuffer"
	"authsvc/internal/test/npm"
)

// nextDir is a Next.js application with edge middleware, the app router, the pages
// router, route handlers and rewrites.
const nextDir = "next"

// rewritesPort is the port to which the application's rewrites lead, which Next.js reads
// when it builds.
var rewritesPort = sync.OnceValues(func() (int, error) { return freeport.Pick(1) })

// builtNext installs and builds the application.
var builtNext = sync.OnceValue(func() error {
	port, err := rewritesPort()
	if err != nil {
		return err
	}
	if err := errors.Join(npm.Install(nextDir), npm.Pack(filepath.Join("..", "clients", "js"), nextDir)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	build := nextCommand(ctx, "build")
	build.Env = append(build.Env, fmt.Sprintf("AUTHSVC_REWRITES=http://127.0.0.1:%d", port))
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("next build: %w\n%s", err, out)
	}
	return nil
})

func nextCommand(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, "node", append([]string{"node_modules/next/dist/bin/next"}, args...)...)
	c.Dir, c.Env = nextDir, append(os.Environ(), "NEXT_TELEMETRY_DISABLED=1")
	return c
}

// startNext serves the application with additional environment variables, and returns
// a proxy to it.
func startNext(t *testing.T, environment ...string) http.Handler {
	t.Helper()
	port, err := freeport.Pick(1)
	if err != nil {
		t.Fatal(err)
	}
	logs := runNext(t, port, environment...)
	// The proxy logs requests that a tab cancels.
	return &httputil.ReverseProxy{ErrorLog: log.New(logs, "proxy: ", 0), Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)})
		r.Out.Host = r.In.Host
	}}
}

// runNext serves the application on a port of 127.0.0.1, and returns its log.
func runNext(t *testing.T, port int, environment ...string) *logbuffer.Buffer {
	t.Helper()
	if err := builtNext(); err != nil {
		t.Fatal(err)
	}
	logs := &logbuffer.Buffer{}
	program := nextCommand(t.Context(), "start", "-H", "127.0.0.1", "-p", fmt.Sprint(port))
	program.Env = append(program.Env, environment...)
	program.Stdout, program.Stderr = logs, logs
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		program.Process.Kill() //nolint:errcheck // it may have ended
		program.Wait()         //nolint:errcheck // killed
		if t.Failed() {
			t.Logf("Next.js said\n%.4000s", logs)
		}
	})
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		res, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/nosuch", port))
		if err == nil {
			res.Body.Close()
			return logs
		}
		if time.Now().After(deadline) {
			t.Fatalf("Next.js does not answer: %v\n%s", err, logs)
		}
	}
}

// TestNext checks one session in middleware, server components, pages, a route
// handler, next-auth/react and authsvc-client/react.
func TestNext(t *testing.T) {
	t.Parallel()
	needNode(t)
	var inner string
	s := newSite(t, func(s *site, c *authsvc.Config) {
		inner = strings.Replace(s.origin, "localhost", "127.0.0.1", 1)
		c.InternalHosts = []string{strings.TrimPrefix(inner, "http://")}
		c.Session = authsvc.SessionOptions{Strategy: authsvc.StrategyJWT, UpdateAge: -1}
		takeNames(s, c)
	})
	next := startNext(t, "AUTHSVC_INTERNAL_URL="+inner)
	for _, path := range []string{"/account", "/classic", "/api/me", "/_next/"} {
		s.mux.Handle(path, next)
	}
	b := newTab(t)
	for _, page := range []string{"/account", "/classic"} {
		b.Open(s.origin + page + "?tab=1")
		b.At(s.base + "/signin?callbackUrl=")
		b.Click(".p-op button")
		s.choose(b, "ada")
		b.At(s.origin + page + "?tab=1")
		nextShows(t, b, page)
		chromium.Eval[map[string]string](b, `auth.signOut({redirect: false})`)
		is(b, "unauthenticated", "", "")
		// Two clients in one tab synchronise when the tab becomes visible.
		chromium.Eval[bool](b, `document.dispatchEvent(new Event("visibilitychange"))`)
		b.Wait(`document.getElementById("ours").textContent === "unauthenticated "`)
	}
	b.Quiet()
	s.signIn(b, "ada", "/account")
	cookies := b.Cookies(s.origin)
	for _, c := range []struct {
		method, path, header, value string
		signedIn                    bool
		status                      int
	}{
		{"GET", "/api/me", "", "", true, 200}, {"GET", "/api/me", "", "", false, 401}, {"GET", "/account", "", "", false, 401},
		{"GET", "/account?a=b", "Accept", "text/html", false, 302}, {"GET", "/classic?a=b", "Accept", "text/html", false, 302},
		{"POST", "/api/me", "Sec-Fetch-Site", "same-origin", true, 200}, {"POST", "/api/me", "Sec-Fetch-Site", "cross-site", true, 403},
	} {
		res := s.askBackEnd(t, c.method, c.path, map[string]string{c.header: c.value}, cookies, c.signedIn)
		if res.StatusCode != c.status || strings.Contains(res.Header.Get("Cache-Control"), "s-maxage") {
			t.Errorf("%+v: %d %v", c, res.StatusCode, res.Header)
		}
		if renewed := strings.Contains(strings.Join(res.Header["Set-Cookie"], ";"), "authsvc.session="); renewed != (c.status == 200) {
			t.Errorf("%+v: renewed cookies %q", c, res.Header["Set-Cookie"])
		}
		want := "/api/auth/signin?callbackUrl=" + url.QueryEscape(c.path)
		if to := res.Header.Get("Location"); c.status == 302 && to != want && to != s.origin+want {
			t.Errorf("%+v: sent to %s", c, to)
		}
	}
}

// nextShows checks that the server and both clients show Ada from the first HTML on,
// and that a change reaches both clients.
func nextShows(t *testing.T, b *chromium.Tab, page string) {
	t.Helper()
	is(b, "authenticated", "Ada Lovelace", "ada@example.com")
	b.Wait(`document.getElementById("server").textContent === "ada@example.com"`)
	html := chromium.Eval[string](b, `fetch("`+page+`").then((r) => r.text())`)
	for _, part := range []string{`id="server">ada@example.com<`, `id="email">ada@example.com<`, `id="ours">authenticated ada@example.com<`} {
		if !strings.Contains(html, part) {
			t.Errorf("%s: the server's HTML lacks %s:\n%.3000s", page, part, html)
		}
	}
	if n := reads(b); n != 0 {
		t.Errorf("%s: clients that received the session read it again %d times", page, n)
	}
	chromium.Eval[*map[string]any](b, `auth.update({name: "Ada King"})`)
	is(b, "authenticated", "Ada King", "ada@example.com")
}
