package e2e

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOtherBackEnds: the programs of docs/other-back-ends.md are told who is signed in.
func TestOtherBackEnds(t *testing.T) {
	t.Parallel()
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
	host := strings.TrimPrefix(origin, "http://")
	at, err := url.Parse(origin)
	if err != nil {
		t.Fatal(err)
	}
	inner := "http://127.0.0.1:" + at.Port()

	dir := t.TempDir()
	python, node := codeBlock(t, "python"), codeBlock(t, "js")
	python += "\n\nimport sys\nfound, _ = session(*sys.argv[1:])\nprint(json.dumps(found))\n"
	node += "\nconst { session: found } = await session(...process.argv.slice(2));\nconsole.log(JSON.stringify(found));\n"
	curl := strings.ReplaceAll(strings.TrimSpace(codeBlock(t, "sh")), "http://127.0.0.1:3000", inner)
	for name, text := range map[string]string{"back.py": python, "back.mjs": node, "back.sh": "COOKIE=$1 HOST=$3\n" + curl + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range [][]string{{"python3", "back.py"}, {"node", "back.mjs"}, {"sh", "back.sh"}} {
		for _, c := range []struct{ cookie, email string }{{cookie, "ada@example.com"}, {"theme=dark", ""}} {
			call := exec.CommandContext(t.Context(), program[0], program[1], c.cookie, inner, host)
			call.Dir = dir
			out, err := call.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", program[0], err, out)
				continue
			}
			var session struct{ User struct{ Email string } }
			if err := json.Unmarshal(out, &session); err != nil || session.User.Email != c.email {
				t.Errorf("%s was told %s, want the address %q", program[0], out, c.email)
			}
		}
	}
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
