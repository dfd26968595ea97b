package e2e

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter"
	"authsvc/adapter/memory"
	"authsvc/engine"
	"authsvc/internal/test/arena"
	testbrowser "authsvc/internal/test/browser"
)

// documentedOrigin is the program's origin in the examples of docs/gate/README.md.
const documentedOrigin = "https://grafana.example.com"

// asserting holds, for each language of the section, a program around its example. It
// prints its port and answers each request with the user's id, or with 401.
var asserting = map[string]struct {
	file    string
	program string // EXAMPLE stands for the code of the page
	command func(t *testing.T, dir string) []string
}{
	"go": {"main.go", `package main

import (
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"

	"authsvc/bearer"
)

func main() {
EXAMPLE
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, err := who(r)
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
		}
		fmt.Fprint(w, id)
	})))
}
`, func(t *testing.T, dir string) []string {
		t.Helper()
		exe := filepath.Join(dir, "program")
		build := exec.CommandContext(t.Context(), "go", "build", "-o", exe, filepath.Join(dir, "main.go")) // #nosec G204 -- of this test
		build.Dir = ".."
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		return []string{exe}
	}},
	"mjs": {"program.mjs", `
import { createServer } from "node:http";
EXAMPLE
const server = createServer((request, response) =>
  who(request).then((id) => response.end(id), () => response.writeHead(401).end()));
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`, func(*testing.T, string) []string { return []string{"node", "program.mjs"} }},
	"python": {"program.py", `
EXAMPLE
import http.server


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        try:
            status, body = 200, who(self)
        except jwt.PyJWTError:
            status, body = 401, ""
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
`, func(t *testing.T, _ string) []string { t.Helper(); return []string{pythonWithJWT(t), "program.py"} }},
}

// startAsserting starts the program around the example of a language, and returns its
// address.
func startAsserting(t *testing.T, language, issuer, origin string) string {
	t.Helper()
	dir, err := os.MkdirTemp(webDir, "assertion-") // Node finds the packages from there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.Abs(dir); err != nil {
		t.Fatal(err)
	}
	a := asserting[language]
	example := onlyBlock(t, "gate/README.md", language)
	for _, constant := range []string{documentedIssuer, documentedOrigin} {
		if strings.Count(example, `"`+constant+`"`) != 1 {
			t.Fatalf("the example has %s more than once, or not at all:\n%s", constant, example)
		}
	}
	example = strings.NewReplacer(documentedIssuer, issuer, documentedOrigin, origin).Replace(example)
	if err := os.WriteFile(filepath.Join(dir, a.file), []byte(strings.Replace(a.program, "EXAMPLE\n", example, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	command := a.command(t, dir)
	run := exec.Command(command[0], command[1:]...) // #nosec G204 -- of this test
	run.Dir, run.Stderr = dir, os.Stderr
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { run.Process.Kill(); run.Wait() }) //nolint:errcheck // it was killed
	port, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s did not start: %v", language, err)
	}
	return "http://127.0.0.1:" + strings.TrimSpace(port)
}

// A lateStore reports a time that is ten minutes ago, so that the assertions of a
// service with this store have expired when they are made.
type lateStore struct{ *memory.Store }

func (lateStore) Now(context.Context) (time.Time, error) {
	return time.Now().Add(-10 * time.Minute), nil
}

// listenFor serves a handler on loopback, and returns the origin.
func listenFor(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: h}
	go server.Serve(l) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { server.Close() })
	return "http://" + l.Addr().String()
}

// TestAssertionExamples checks that each program of docs/gate/README.md, behind the
// gate, learns who sends a request, and that it refuses assertions for another origin,
// expired and altered ones, access tokens, and requests without an assertion.
func TestAssertionExamples(t *testing.T) {
	t.Parallel()
	needNode(t)
	var current atomic.Pointer[engine.Service] // made when all addresses are known
	origin := listenFor(t, func(w http.ResponseWriter, r *http.Request) { current.Load().ServeHTTP(w, r) })
	guarded := func(w http.ResponseWriter, r *http.Request) {
		current.Load().Guard(http.NotFoundHandler()).ServeHTTP(w, r)
	}
	origins, programs := map[string]string{}, map[string]string{}
	store := memory.New()
	config := func(s adapter.Adapter) authsvc.Config {
		c := authsvc.Config{URL: origin, Secrets: []string{secretA}, Adapter: s, Session: authsvc.SessionOptions{Strategy: "jwt"}, Logger: slog.New(slog.DiscardHandler),
			Providers:      []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize}},
			TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
		c.Gate.Headers.Assertion = []string{"X-Auth-Assertion"}
		for language, one := range origins {
			c.Tokens.Audiences = append(c.Tokens.Audiences, authsvc.Audience{ID: one})
			c.Gate.Hosts = append(c.Gate.Hosts, authsvc.GateHost{Origin: one, Upstream: programs[language],
				Rules: []authsvc.GateRule{{Match: "/open/", Allow: authsvc.Allow{Anyone: true}}}})
		}
		return c
	}
	for language := range asserting {
		origins[language] = listenFor(t, guarded)
		programs[language] = startAsserting(t, language, origin+"/api/auth", origins[language])
	}
	serve := func(s adapter.Adapter) {
		service, err := engine.New(config(s))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { service.Close(context.Background()) })
		current.Store(service)
	}
	b := testbrowser.New(origin, nil)
	get := func(b *testbrowser.Browser, address string, header ...string) *testbrowser.Answer {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		a, err := b.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	assertion := func(language string) string {
		a := get(b, origin+"/api/auth/gate/forward-auth", "X-Forwarded-Method", "GET", "X-Forwarded-Proto", "http",
			"X-Forwarded-Host", strings.TrimPrefix(origins[language], "http://"), "X-Forwarded-Uri", "/")
		token := a.Header.Get("X-Auth-Assertion")
		if token == "" {
			t.Fatalf("no assertion: %d %s", a.StatusCode, a.Text)
		}
		return token
	}

	serve(lateStore{store})
	if _, err := b.Post("/api/auth/callback/credentials", "username", "ada", "password", "right", "json", "true"); err != nil {
		t.Fatal(err)
	}
	expired := map[string]string{}
	for language := range asserting {
		expired[language] = assertion(language)
	}
	serve(store)
	other := map[string]string{"go": "mjs", "mjs": "python", "python": "go"}
	for language, address := range programs {
		good := assertion(language)
		for name, c := range map[string]struct {
			browser *testbrowser.Browser
			address string
			header  []string
			want    string
		}{
			"signed in, through the gate":       {b, origins[language], nil, "ada-id"},
			"nobody, through the gate":          {b.Fresh(), origins[language], nil, ""},
			"a client's copy, through the gate": {b.Fresh(), origins[language], []string{"X-Auth-Assertion", good}, ""},
			"valid":                             {b.Fresh(), address, []string{"X-Auth-Assertion", good}, "ada-id"},
			"for another origin":                {b.Fresh(), address, []string{"X-Auth-Assertion", assertion(other[language])}, ""},
			"expired":                           {b.Fresh(), address, []string{"X-Auth-Assertion", expired[language]}, ""},
			"an access token":                   {b.Fresh(), address, []string{"X-Auth-Assertion", issueToken(t, b, origins[language])}, ""},
			"altered":                           {b.Fresh(), address, []string{"X-Auth-Assertion", tampered(good, "")[1]}, ""},
			"without a signature":               {b.Fresh(), address, []string{"X-Auth-Assertion", tampered(good, "")[3]}, ""},
			"no header":                         {b.Fresh(), address, nil, ""},
			"in another header":                 {b.Fresh(), address, []string{"Authorization", "Bearer " + good}, ""},
		} {
			status := http.StatusOK
			if c.want == "" {
				status = http.StatusUnauthorized
			}
			if a := get(c.browser, c.address+"/open/", c.header...); a.StatusCode != status || a.Text != c.want {
				t.Errorf("%s, %s: %d %q, want %d %q", language, name, a.StatusCode, a.Text, status, c.want)
			}
		}
	}
}
