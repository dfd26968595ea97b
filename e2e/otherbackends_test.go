package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOtherBackEnds checks that the programs of docs/other-back-ends.md learn who is
// signed in.
func TestOtherBackEnds(t *testing.T) {
	t.Parallel()
	needClient(t)
	origin, issuer := startDev(t)
	b := newTab(t)
	b.Open(origin + "/api/auth/signin?callbackUrl=%2F")
	b.Click(".p-dev button")
	b.At(issuer)
	b.Click("button[value='ada']")
	b.At(origin)
	var pairs []string
	for name, value := range b.Cookies(origin) {
		pairs = append(pairs, name+"="+value)
	}
	cookie := strings.Join(pairs, "; ")
	away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, "{}")
	}))
	t.Cleanup(away.Close)
	for _, program := range backEnds(t) {
		for _, c := range []struct{ cookie, at, email string }{{cookie, origin, "ada@example.com"}, {"theme=dark", origin, ""}, {cookie, away.URL, "refused"}} {
			call := exec.CommandContext(t.Context(), program[0], program[1:]...)
			call.Dir = webDir // holds authsvc-client
			call.Env = append(os.Environ(), "COOKIE="+c.cookie, "AUTHSVC="+c.at)
			out, err := call.CombinedOutput()
			if refused := c.email == "refused"; refused || err != nil {
				if !refused || err == nil {
					t.Errorf("%s: %v\n%s", program, err, out)
				}
				continue
			}
			var session struct{ User struct{ Email string } }
			if err := json.NewDecoder(bytes.NewReader(out)).Decode(&session); err != nil || session.User.Email != c.email {
				t.Errorf("%s was told %s, want the address %q", program[1], out, c.email)
			}
		}
	}
}

// backEnds writes the programs of the page, which take COOKIE and AUTHSVC from the
// environment and print the session. It returns the command that runs each.
func backEnds(t *testing.T) [][]string {
	t.Helper()
	dir := t.TempDir()
	python := codeBlock(t, "python") + "\n\nfound, _ = session(os.environ['COOKIE'], AUTHSVC)\nprint(json.dumps(found))\n"
	fetch := codeBlock(t, "mjs") + "\nconst { session: found } = await session(process.env.COOKIE, process.env.AUTHSVC);\nconsole.log(JSON.stringify(found));\n"
	for name, text := range map[string]string{"back.py": python, "back.mjs": fetch, "back.sh": codeBlock(t, "sh")} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return [][]string{
		{"python3", filepath.Join(dir, "back.py")}, {"sh", filepath.Join(dir, "back.sh")}, {"node", filepath.Join(dir, "back.mjs")},
		{"node", "--input-type=module", "--eval", codeBlock(t, "js")},
	}
}

// codeBlock returns the only code block of a language in docs/other-back-ends.md.
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
