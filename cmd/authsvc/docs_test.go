package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// storageConfig returns a configuration file with a storage.
func storageConfig(t *testing.T, url string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "authsvc.yaml")
	yaml := fmt.Sprintf("url: https://app.example.com\nsecret: %s\nstorage: {url: %q}\nproviders: [{id: github, client_id: a, client_secret: b}]\n", testSecret, url)
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCIKillsByID: CI scripts end processes by ID, never by name.
func TestCIKillsByID(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob(filepath.Join("..", "..", ".ci", "*"))
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, script := range scripts {
		raw, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"pkill", "killall", "pidof"} {
			if strings.Contains(string(raw), word) {
				t.Errorf("%s uses %s", filepath.Base(script), word)
			}
		}
	}
}

// shellBlocks returns the commands that the pages show, with their page, and whether
// the page says that no test runs them.
func shellBlocks(t *testing.T) (all []shownCommand) {
	t.Helper()
	root := filepath.Join("..", "..")
	pages := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"}
	if err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if name, in := strings.CutPrefix(path, root+string(filepath.Separator)); in && strings.HasSuffix(name, ".md") {
			pages = append(pages, name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		raw, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```\n(.{0,60})").FindAllStringSubmatch(string(raw), -1) {
			said := strings.HasPrefix(strings.TrimSpace(m[2]), "(The tests do not run this example.)")
			for line := range strings.Lines(m[1]) {
				command, comment, _ := strings.Cut(line, "#")
				if command = strings.TrimSpace(command); command != "" {
					all = append(all, shownCommand{page, command, said || strings.Contains(comment, "not run by CI")})
				}
			}
		}
	}
	if len(all) < 60 {
		t.Errorf("%d commands", len(all))
	}
	return all
}

type shownCommand struct {
	page, line string
	notRun     bool // the page says that no test runs it
}

// TestDocumentedCommands: tests or CI run each command on a page, or the page says that
// they do not. Commands of authsvc have the words and flags with which they are shown.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	read := func(patterns ...string) (all string) {
		for _, pattern := range patterns {
			files, err := filepath.Glob(filepath.Join("..", "..", pattern))
			if err != nil || len(files) == 0 {
				t.Fatal(pattern, err)
			}
			for _, file := range files {
				raw, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				all += string(raw)
			}
		}
		return all
	}
	ci := read(".ci/*")
	scripts, tests := read("cmd/authsvc/testdata/script/*.txtar"), read("cmd/authsvc/*_test.go")
	// Commands that tests read from the page or run in another form, with the text that
	// proves it.
	elsewhere := map[string][2]string{
		"docs/configuration.md":        {"cmd/authsvc/internal/config/private_key_test.go", "docs/configuration.md"},
		"docs/other-back-ends.md":      {"e2e/otherbackends_test.go", "other-back-ends.md"},
		"docs/front-ends/next.md":      {"e2e/frontends_servers_test.go", `"next.md": {`},
		"docs/front-ends/nuxt.md":      {"e2e/frontends_servers_test.go", `"nuxt.md":      {`},
		"docs/front-ends/sveltekit.md": {"e2e/frontends_servers_test.go", `"sveltekit.md": {`},
		"docs/front-ends/vite.md":      {"e2e/frontends_servers_test.go", `"vite.md":      {`},
		"docs/deploy.md":               {"cmd/authsvc/deploy_docs_test.go", "TestDeployCommands"}, // block by block
		"docs/release.md":              {"internal/tools/release/release_test.go", `block(t, "ssh-keygen ")`},
		"docs/supply-chain.md":         {"internal/tools/release/twice.go", `"clone"`},
		"docs/performance.md":          {".ci/run", ".ci/servers"},
		"docs/security.md":             {".ci/run", ".ci/servers"},
	}
	behind := map[string]string{"fuzz": ".ci/fuzz ", "vuln": ".ci/vuln ./authsvc", "reproducible": "supply TARGETS=all"} // targets whose script .ci/full runs itself
	for _, c := range shellBlocks(t) {
		words, err := shellWords(c.line)
		for err == nil && regexp.MustCompile(`^[A-Z_]+=`).MatchString(words[0]) {
			words = words[1:]
		}
		if err != nil {
			t.Errorf("%s: %s: %v", c.page, c.line, err)
			continue
		}
		switch first := words[0]; {
		case first == "authsvc":
			path, err := commandPath(words[1:])
			if err != nil {
				t.Errorf("%s shows %s: %v", c.page, c.line, err)
			} else if path = strings.TrimSuffix(path, " list"); !strings.Contains(scripts, "authsvc "+path) && !strings.Contains(tests, `"`+strings.ReplaceAll(path, " ", `", "`)+`", "`) {
				t.Errorf("%s shows %s, and no test runs authsvc %s", c.page, c.line, path)
			}
		case c.notRun, c.page == "README.md": // make newcomer follows it word by word
		case first == "make":
			if !regexp.MustCompile(`make( --no-print-directory)? `+regexp.QuoteMeta(words[1])+`\b`).MatchString(ci) && (behind[words[1]] == "" || !strings.Contains(ci, behind[words[1]])) {
				t.Errorf("%s shows %s, which CI does not run; say so behind it: # not run by CI", c.page, c.line)
			}
		case strings.HasPrefix(first, ".ci/"): // beside the make target that runs it
		case first == "go" && words[1] == "run": // tools have their own tests
			if read(words[2]+"/*_test.go") == "" {
				t.Errorf("%s shows %s, which has no test", c.page, c.line)
			}
		default:
			from, known := elsewhere[c.page]
			if !known || !strings.Contains(read(from[0]), from[1]) {
				t.Errorf("%s shows %s, which no test is known to run; say so after the block: (The tests do not run this example.)", c.page, c.line)
			}
		}
	}
}

// shellWords splits a simple command, up to the redirection of its output.
func shellWords(line string) (words []string, err error) {
	word, quote, in := "", rune(0), false
	for _, r := range line + " " {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word += string(r)
		case r == '\'', r == '"':
			quote, in = r, true
		case r == '>' || r == '|' || r == ';':
			return words, nil
		case r == ' ':
			if in || word != "" {
				words = append(words, word)
			}
			word, in = "", false
		default:
			word += string(r)
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote does not end")
	}
	return words, nil
}

// commandPath returns the words of a command line that name the command.
func commandPath(args []string) (string, error) {
	var c commands
	parser, err := kong.New(&c, kong.Name("authsvc"), kong.Writers(io.Discard, io.Discard), kong.Exit(func(int) {}))
	if err != nil {
		return "", err
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return "", err
	}
	path, _, _ := strings.Cut(parsed.Command(), " <")
	return path, nil
}

// TestReleasedExample: the configuration in the archives of a release lacks only secrets.
func TestReleasedExample(t *testing.T) {
	t.Parallel()
	check := []string{"check", "--offline", "--config", filepath.Join("..", "..", "internal", "tools", "release", "archive", "authsvc.yaml")}
	var out bytes.Buffer
	code := run(t.Context(), check, nil, strings.NewReader(""), &out, &out)
	for _, name := range []string{"AUTHSVC_SECRET", "GITHUB_SECRET", "SMTP_PASSWORD"} {
		if code == 0 || !strings.Contains(out.String(), name) {
			t.Errorf("without %s: exit code %d\n%s", name, code, out.String())
		}
	}
	out.Reset()
	if code := run(t.Context(), check, []string{"AUTHSVC_SECRET=" + testSecret, "GITHUB_SECRET=a", "SMTP_PASSWORD=b"}, strings.NewReader(""), &out, &out); code != 0 {
		t.Errorf("exit code %d\n%s", code, out.String())
	}
}
