package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"authsvc/internal/test/browser"
	"authsvc/internal/test/logbuffer"
)

// tells returns a program that reports its requests. At /events it reports that it is
// still running.
func tells(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" {
			w.Header().Set("Content-Type", "text/event-stream")
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-r.Context().Done():
					return
				case <-tick.C:
					fmt.Fprintln(w, "data: still here")
					if http.NewResponseController(w).Flush() != nil {
						return
					}
				}
			}
		}
		json.NewEncoder(w).Encode(map[string]any{"target": r.RequestURI, "email": r.Header.Get("X-Auth-Email"), "cookie": r.Header.Get("Cookie")})
	}))
	t.Cleanup(s.Close)
	return s
}

// TestGateCommand: one command puts a program behind sign-in. A sign-out ends the
// user's responses, a signal ends all.
func TestGateCommand(t *testing.T) {
	t.Parallel()
	program := tells(t)
	op := startProvider(t)
	addr := freeAddress(t)
	origin := "http://" + addr
	l := newProcess(t, t.TempDir(), addr, strings.Replace(testConfig("https://elsewhere.example.com", op), "secret:", "gate: {recheck: 5s}\nsecret:", 1))
	l.cmd.Args = []string{"authsvc", "gate", "--config", configFile(addr), "--upstream", program.URL, "--origin", origin, "--allow", "domains=example.com", "--allow", "users=1"}
	l.start()
	b := browser.New(origin, nil)
	ask := func(path string) *browser.Answer {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/html")
		a, err := b.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	if a := ask("/dash?a=b"); a.Location() != origin+"/api/auth/gate/start?to=%2Fdash%3Fa%3Db" {
		t.Fatalf("no session: %d %s", a.StatusCode, a.Location())
	}
	if a := ask("/api/auth/gate/start?to=%2Fdash%3Fa%3Db"); a.Location() != origin+"/api/auth/signin?callbackUrl="+url.QueryEscape(origin+"/dash?a=b") {
		t.Fatalf("gate/start: %d %s", a.StatusCode, a.Location())
	}
	if err := b.SignIn(op, "ada"); err != nil {
		t.Fatal(err)
	}
	if a := ask("/dash?a=b"); strings.TrimSpace(a.Text) != `{"cookie":"","email":"ada@example.com","target":"/dash?a=b"}` {
		t.Fatalf("the program answers %s", a.Text)
	}
	events, err := http.NewRequestWithContext(t.Context(), "GET", origin+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range b.Client.Jar.Cookies(events.URL) {
		events.AddCookie(c)
	}
	stream, err := http.DefaultClient.Do(events)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	if !lines.Scan() || lines.Text() != "data: still here" {
		t.Fatalf("%d %q", stream.StatusCode, lines.Text())
	}
	if err := b.SignOut(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	go func() {
		for lines.Scan() {
		}
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Error("the stream continues after the sign-out")
	}
	l.terminate()
}

// TestGateFlags: mistakes on the command line are reported.
func TestGateFlags(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "authsvc.yaml")
	config := "url: http://localhost:3000\nsecret: " + testSecret + "\nstorage: {url: \"memory:\"}\nproviders: [{id: github, client_id: x, client_secret: y}]\n"
	for _, tt := range []struct {
		more string
		args []string
		want string
	}{
		{"", []string{"gate"}, "missing flags: --upstream"},
		{"", []string{"gate", "--upstream", "x", "--allow", "colour=blue"}, "colour"},
		{"", []string{"gate", "--upstream", "x", "--allow", "anyone", "--allow", "users=1"}, "must not be combined with another"},
		{"", []string{"gate", "--upstream", "http://127.0.0.1:1", "--allow", "when=user.nmae == '', x"}, "command line: --allow[0].when is wrong: "},
		{"", []string{"gate", "--upstream", "localhost:80"}, "is not the address of a program"},
		{"gate:\n  hosts:\n    - origin: http://localhost:3000\n", []string{"serve"}, "authsvc.yaml:7: gate.hosts[0].upstream is missing"},
		{"gate:\n  hosts:\n    - {origin: \"http://localhost:3000\", upstream: \"unix:/a\", rules: [{match: /a/, allow: everyone}]}\n", []string{"serve"}, "everyone"},
	} {
		if err := os.WriteFile(file, []byte(config+tt.more), 0o600); err != nil {
			t.Fatal(err)
		}
		var out logbuffer.Buffer
		if code := run(t.Context(), append([]string{"--config", file}, tt.args...), nil, nil, &out, &out); code != exitUsage || !strings.Contains(out.String(), tt.want) {
			t.Errorf("%v: %d\n%s\nwant %q", tt.args, code, out.String(), tt.want)
		}
	}
}
