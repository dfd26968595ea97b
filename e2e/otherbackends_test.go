package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc"
	"authsvc/adapter/memory"
	"authsvc/internal/test/arena"
	testbrowser "authsvc/internal/test/browser"
)

// startExposing serves sessions with their users' ids on loopback, and returns the
// port and the cookies of somebody who is signed in there.
func startExposing(t *testing.T, mode authsvc.Compat) (port, cookie string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	origin := "http://localhost:" + port
	s, err := authsvc.New(authsvc.Config{URL: origin, Secrets: []string{secretA}, Adapter: memory.New(), Compat: mode, Logger: slog.New(slog.DiscardHandler),
		Session:   authsvc.SessionOptions{Strategy: "jwt", Expose: map[string]string{"id": "id"}},
		Providers: []authsvc.Provider{&authsvc.Credentials{Authorize: arena.Authorize}}})
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	go server.Serve(l) //nolint:errcheck // it ends with the test
	t.Cleanup(func() { server.Close(); s.Close(context.Background()) })
	b := testbrowser.New(origin, nil)
	if _, err := b.Post("/api/auth/callback/credentials", "username", "ada", "password", "right", "json", "true"); err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	var pairs []string
	for _, c := range b.Client.Jar.Cookies(at) {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	return port, strings.Join(pairs, "; ")
}

// otherBackEnds writes the programs of docs/other-back-ends.md into a folder, to be
// called with cookies, inner address and host.
func otherBackEnds(t *testing.T) (dir string, programs [][]string) {
	t.Helper()
	requested(t, "Node, Python and curl")
	dir = t.TempDir()
	python, node := codeBlock(t, "python"), codeBlock(t, "js")
	python += "\n\nimport sys\nfound, _ = session(*sys.argv[1:])\nprint(json.dumps(found))\n"
	node += "\nconst { session: found } = await session(...process.argv.slice(2)).catch((error) => ({ session: { refused: error.message } }));\nconsole.log(JSON.stringify(found));\n"
	curl := strings.ReplaceAll(strings.TrimSpace(codeBlock(t, "sh")), "http://127.0.0.1:3000", `"$2"`)
	for name, text := range map[string]string{"back.py": python, "back.mjs": node, "back.sh": "COOKIE=$1 HOST=$3\n" + curl + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, [][]string{{"python3", "back.py"}, {"node", "back.mjs"}, {"sh", "back.sh"}}
}

// TestOtherBackEnds: the programs of docs/other-back-ends.md are told who is signed
// in, and that nobody is, in each mode.
func TestOtherBackEnds(t *testing.T) {
	t.Parallel()
	dir, programs := otherBackEnds(t)
	for _, mode := range []authsvc.Compat{authsvc.CompatNone, authsvc.NextAuthV4, authsvc.AuthJSV5} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			port, signedIn := startExposing(t, mode)
			for _, program := range programs {
				for _, c := range []struct {
					cookie string
					known  bool
				}{{signedIn, true}, {"theme=dark", false}} {
					out := runIn(t, dir, program, c.cookie, "http://127.0.0.1:"+port, "localhost:"+port)
					var session struct{ User struct{ ID, Email string } }
					if err := json.Unmarshal(out, &session); err != nil || (session.User.ID != "") != c.known || (session.User.Email != "") != c.known {
						t.Errorf("%s was told %s, %v; want somebody: %t", program[0], out, err, c.known)
					}
				}
			}
		})
	}
}

// TestOtherBackEndRefuses: an answer that is none rejects in Node.js, instead of
// ending the process.
func TestOtherBackEndRefuses(t *testing.T) {
	t.Parallel()
	dir, programs := otherBackEnds(t)
	for status, c := range map[int]struct{ body, want string }{200: {"<html>", "JSON"}, 503: {"{}", "authsvc answered 503"}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, c.body)
		}))
		out := runIn(t, dir, programs[1], "", server.URL, "localhost")
		server.Close()
		if !strings.HasPrefix(string(out), `{"refused":`) || !strings.Contains(string(out), c.want) {
			t.Errorf("%d %s: %s", status, c.body, out)
		}
	}
}

func runIn(t *testing.T, dir string, program []string, args ...string) []byte {
	t.Helper()
	call := exec.CommandContext(t.Context(), program[0], slices.Concat(program[1:], args)...) // #nosec G204 -- of the documentation
	call.Dir = dir
	out, err := call.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", program[0], err, out)
	}
	return out
}

// codeBlock is the only code of a language in docs/other-back-ends.md.
func codeBlock(t *testing.T, language string) string {
	t.Helper()
	return onlyBlock(t, "other-back-ends.md", language)
}

func onlyBlock(t *testing.T, name, language string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(page), "```"+language+"\n")
	if len(parts) != 2 {
		t.Fatalf("%s has %d blocks of %s, want 1", name, len(parts)-1, language)
	}
	code, _, _ := strings.Cut(parts[1], "```\n")
	return code
}
