//go:build newcomer

// Package newcomer follows the README literally, in a fresh clone with an empty home
// directory: every command that it shows, a sign-in in a browser, typical mistakes of
// the first day, and a Next.js application. It uses ports 3000 to 3002 and takes
// minutes:
//
//	make newcomer
package newcomer

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"authsvc/internal/test/chromium"
)

// A newcomer has a clone in an empty home directory.
type newcomer struct {
	*testing.T
	home  string
	clone string
	env   []string
	yaml  string // the README's authsvc.yaml
}

// TestNewcomer follows the README from its first command to its last.
func TestNewcomer(t *testing.T) {
	n := arrive(t)
	readme, err := os.ReadFile(filepath.Join(n.clone, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]func(commands []string){
		"go run ./cmd/authsvc dev": n.signIn,
		"go install":               n.build,
		"go mod edit":              n.importIt,
		"authsvc dev -c":           n.tryFile,
		"authsvc check":            n.runService,
		"make check":               n.isTarget,
	}
	if strings.Contains(string(readme), "\ngo get ") { // a copy with a home, see docs/release.md
		steps["go get"] = n.importIt
		delete(steps, "go mod edit")
	}
	blocks := regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	for _, block := range blocks {
		if block[1] == "yaml" {
			n.yaml = block[2]
		}
	}
	for _, block := range blocks {
		if block[1] != "sh" {
			continue
		}
		var follow func([]string)
		for start, step := range steps {
			if strings.HasPrefix(block[2], start) {
				follow = step
				delete(steps, start)
			}
		}
		if follow == nil {
			t.Errorf("the README shows commands that were not tried:\n%s", block[2])
			continue
		}
		var commands []string
		for line := range strings.Lines(block[2]) {
			command, _, _ := strings.Cut(line, "#")
			commands = append(commands, strings.TrimSpace(command))
		}
		begun := time.Now()
		follow(commands)
		t.Logf("%s: %v", strings.Join(commands, "; "), time.Since(begun).Round(time.Second))
	}
	for start := range steps {
		t.Errorf("the README does not show %q", start)
	}
	n.makeMistakes()
	begun := time.Now()
	n.useNext()
	t.Logf("docs/front-ends/next.md: %v", time.Since(begun).Round(time.Second))
}

// arrive clones the repository. It uses only the machine's programs, and the caches
// of the go command.
func arrive(t *testing.T) *newcomer {
	t.Helper()
	n := &newcomer{T: t, home: t.TempDir()}
	n.clone = filepath.Join(n.home, "authsvc")
	for _, name := range []string{"PATH", "GOPROXY", "GOSUMDB", "GOFLAGS", "GOTOOLCHAIN", "TMPDIR", "LANG"} {
		if v, ok := os.LookupEnv(name); ok {
			n.env = append(n.env, name+"="+v)
		}
	}
	n.env = append(n.env, "HOME="+n.home)
	for _, name := range []string{"GOMODCACHE", "GOCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		n.env = append(n.env, name+"="+strings.TrimSpace(string(out)))
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	n.run(n.home, "git clone --quiet file://"+root+" authsvc")
	return n
}

func (n *newcomer) command(dir, line string, env ...string) *exec.Cmd {
	c := exec.CommandContext(n.Context(), "sh", "-c", line)
	c.Dir, c.Env = dir, append(n.env, env...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	return c
}

// run runs a command that must succeed, and returns its output.
func (n *newcomer) run(dir, line string, env ...string) string {
	n.Helper()
	out, err := n.command(dir, line, env...).CombinedOutput()
	if err != nil {
		n.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// serve starts a server command. The returned function ends it as Ctrl-C does and
// returns its output.
func (n *newcomer) serve(dir, line, ready string, env ...string) (end func() string) {
	n.Helper()
	if res, err := http.Get(ready); err == nil {
		res.Body.Close()
		n.Fatalf("another program answers at %s", ready)
	}
	out, err := os.Create(filepath.Join(n.TempDir(), "out"))
	if err != nil {
		n.Fatal(err)
	}
	c := n.command(dir, line, env...)
	c.Stdout, c.Stderr = out, out
	if err := c.Start(); err != nil {
		n.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	said := func() string {
		text, err := os.ReadFile(out.Name())
		if err != nil {
			n.Fatal(err)
		}
		return string(text)
	}
	for begun := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if res, err := http.Get(ready); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				break
			}
		}
		select {
		case err := <-done:
			n.Fatalf("%s ended: %v\n%s", line, err, said())
		default:
		}
		if time.Since(begun) > 5*time.Minute {
			n.Fatalf("%s does not answer at %s\n%s", line, ready, said())
		}
	}
	return func() string {
		n.Helper()
		if err := syscall.Kill(-c.Process.Pid, syscall.SIGINT); err != nil {
			n.Fatal(err)
		}
		select {
		case <-done:
		case <-time.After(time.Minute):
			n.Errorf("%s does not stop\n%s", line, said())
		}
		return said()
	}
}

// signIn runs the first command. It signs in with the built-in identity provider, and
// with a link from the inbox.
func (n *newcomer) signIn(commands []string) {
	n.Helper()
	const origin = "http://localhost:3000"
	end := n.serve(n.clone, commands[0], origin+"/api/auth/providers")
	browser, err := chromium.Start(chromium.Options{})
	if err != nil {
		n.Fatal(err)
	}
	defer browser.Close()
	b := browser.Tab(n)
	b.Open(origin)
	shows(b, "You are not signed in")
	b.Open(origin + "/api/auth/signin?callbackUrl=%2F")
	b.Click(".p-dev button")
	shows(b, "Ada Lovelace")
	b.Click("button.person")
	b.At(origin)
	shows(b, "ada@example.com")

	mail := browser.Tab(n)
	mail.Open(origin + "/api/auth/signin?callbackUrl=%2F")
	mail.Fill("input[name=email]", "grace@example.com")
	mail.Click("#submitButton")
	mail.At(origin + "/api/auth/verify-request")
	mail.Open(origin + "/inbox")
	mail.Click("a.primary")
	mail.Wait(`location.pathname === "/" && document.readyState === "complete"`)
	shows(mail, "grace@example.com")
	said := end()
	for _, want := range []string{"Open            " + origin, "Stopping."} {
		if !strings.Contains(said, want) {
			n.Errorf("%s does not say %q:\n%s", commands[0], want, said)
		}
	}
}

// shows waits until a page contains this text.
func shows(b *chromium.Tab, text string) {
	b.Wait(`document.readyState === "complete" && document.body.innerText.includes(` + chromium.Quote(text) + `)`)
}

// build builds the binary in both documented ways.
func (n *newcomer) build(commands []string) {
	n.Helper()
	for _, command := range commands {
		n.run(n.clone, command)
	}
	for _, binary := range []string{filepath.Join(n.clone, "authsvc"), filepath.Join(n.home, "go", "bin", "authsvc")} {
		if said := n.run(n.home, binary+" version"); !strings.Contains(said, "authsvc") {
			n.Errorf("%s version says %q", binary, said)
		}
	}
}

// importIt imports the clone from a newcomer's program.
func (n *newcomer) importIt(commands []string) {
	n.Helper()
	dir := filepath.Join(n.home, "app")
	if err := os.Mkdir(dir, 0o755); err != nil {
		n.Fatal(err)
	}
	n.run(dir, "go mod init app")
	n.write(filepath.Join(dir, "main.go"), `package main

import (
	"fmt"

	"authsvc"
	"authsvc/engine"
	"authsvc/provider"
)

func main() {
	_, err := engine.New(authsvc.Config{URL: "https://app.example.com", Providers: []authsvc.Provider{provider.GitHub(authsvc.Client{ID: "a", Secret: "b"})}})
	fmt.Println(err)
}
`)
	for _, command := range commands {
		if path, gets := strings.CutPrefix(command, "go get "); gets { // the commit may not be there yet
			n.run(dir, "go mod edit -replace="+path+"="+n.clone)
		}
		n.run(dir, command)
	}
	if said := n.run(dir, "go run ."); !strings.Contains(said, "Secrets") {
		n.Errorf("New without a secret says %q", said)
	}
}

// path returns a PATH that contains the command, as after make build or go install.
func (n *newcomer) path() string {
	return "PATH=" + filepath.Join(n.home, "go", "bin") + string(os.PathListSeparator) + os.Getenv("PATH")
}

// tryFile runs the README's authsvc.yaml unchanged, and signs in with the provider that
// lacks a client.
func (n *newcomer) tryFile(commands []string) {
	n.Helper()
	dir := filepath.Join(n.home, "try")
	if err := os.Mkdir(dir, 0o700); err != nil {
		n.Fatal(err)
	}
	n.write(filepath.Join(dir, "authsvc.yaml"), n.yaml)
	const origin = "http://localhost:3000"
	end := n.serve(dir, commands[0], origin+"/api/auth/providers", n.path())
	browser, err := chromium.Start(chromium.Options{})
	if err != nil {
		n.Fatal(err)
	}
	defer browser.Close()
	b := browser.Tab(n)
	b.Open(origin + "/api/auth/signin")
	b.Click(".p-github button")
	shows(b, "Ada Lovelace")
	b.Click("button.person")
	b.At(origin)
	b.Open(origin + "/api/auth/session")
	shows(b, "ada@example.com")
	if said := end(); !strings.Contains(said, "github       Dev ID in its place: client_id is a placeholder") {
		n.Errorf("%s says\n%s", commands[0], said)
	}
}

// runService takes the README's authsvc.yaml unchanged, reads which settings are
// missing, adds them, and serves.
func (n *newcomer) runService(commands []string) {
	n.Helper()
	dir := filepath.Join(n.home, "service")
	if err := os.Mkdir(dir, 0o700); err != nil {
		n.Fatal(err)
	}
	n.write(filepath.Join(dir, "authsvc.yaml"), n.yaml)
	out, err := n.command(dir, commands[0], n.path()).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("AUTHSVC_SECRET")) {
		n.Errorf("%s without a secret: %v\n%s", commands[0], err, out)
	}
	if named := bytes.Count(out, []byte("is still the placeholder from the documentation")); named != strings.Count(n.yaml, "…") {
		n.Errorf("%s names %d placeholders\n%s", commands[0], named, out)
	}
	n.write(filepath.Join(dir, "authsvc.yaml"), strings.ReplaceAll(n.yaml, "…", "as-registered"))
	secret := "AUTHSVC_SECRET=" + strings.TrimSpace(n.run(dir, "authsvc secret", n.path()))
	out, err = n.command(dir, commands[0], n.path(), secret).CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("https://app.example.com/api/auth/callback/github")) || !bytes.Contains(out, []byte("id.acme.example")) {
		n.Errorf("%s: %v; want the callback URL, and that the issuer cannot be reached\n%s", commands[0], err, out)
	}
	said := n.serve(dir, commands[1], "http://127.0.0.1:3000/readyz", n.path(), secret)()
	if !strings.Contains(said, "authsvc serves https://app.example.com/api/auth") {
		n.Errorf("%s says\n%s", commands[1], said)
	}
}

// isTarget only checks that make knows the targets: CI runs them separately.
func (n *newcomer) isTarget(commands []string) {
	n.Helper()
	if said := n.run(n.clone, commands[0]+" -n"); !strings.Contains(said, "go test -race") {
		n.Errorf("%s would run\n%s", commands[0], said)
	}
}

// makeMistakes puts one mistake at a time into a valid configuration, then all
// compatible ones at once. check must name the line and the fix.
func (n *newcomer) makeMistakes() {
	n.Helper()
	dir := filepath.Join(n.home, "mistakes")
	if err := os.Mkdir(dir, 0o700); err != nil {
		n.Fatal(err)
	}
	check := func(yaml string) (said string, ok bool) {
		n.write(filepath.Join(dir, "authsvc.yaml"), yaml)
		out, err := n.command(dir, "authsvc check --offline", n.path()).CombinedOutput()
		return string(out), err == nil
	}
	const right = `url: https://app.example.com
secret: 1f0c9a3b7e5d2846f1a0c9b8d7e6f504
listen: 127.0.0.1:3000
storage: {url: "sqlite:authsvc.db"}
session: {strategy: database, max_age: 720h}
providers:
  - {id: github, client_id: an-id, client_secret: a-secret}
  - {id: email, type: email, server: "smtp://mail.example.com:587", from: "Acme <no-reply@example.com>"}
`
	if said, ok := check(right); !ok {
		n.Fatalf("the twin without a mistake:\n%s", said)
	}
	mistakes := []struct{ name, from, to, place, fix string }{
		{"a misspelt key", "listen:", "listne:", "authsvc.yaml:3", "listen"},
		{"a misspelt provider", "id: github", "id: githb", "authsvc.yaml:7", "github"},
		{"a URL without a scheme", "https://app.example.com", "app.example.com", "authsvc.yaml:1", "https://app.example.com"},
		{"a secret that is too short", "1f0c9a3b7e5d2846f1a0c9b8d7e6f504", "hush", "authsvc.yaml:2", "authsvc secret"},
		{"no client secret", ", client_secret: a-secret", "", "authsvc.yaml:7", "client_secret"},
		{"a store that is not supported", "sqlite:authsvc.db", "oracle://db.example.com", "authsvc.yaml:4", "sqlite"},
		{"a strategy that is not known", "strategy: database", "strategy: cookies", "authsvc.yaml:5", "jwt"},
		{"a duration without a unit", "720h", "720 hours", "authsvc.yaml:5", "720h"},
		{"no sender", `, from: "Acme <no-reply@example.com>"`, "", "authsvc.yaml:8", "from"},
		{"a port that cannot be", "127.0.0.1:3000", "127.0.0.1:300000", "authsvc.yaml:3", "65535"},
		{"a mail server without a scheme", "smtp://mail.example.com:587", "mail.example.com:587", "authsvc.yaml:8", "smtp://"},
		{"a tab", "storage: {url", "\tstorage: {url", "authsvc.yaml:4", "spaces"},
	}
	all := right
	for _, m := range mistakes {
		wrong := strings.Replace(right, m.from, m.to, 1)
		if wrong == right {
			n.Fatalf("%s: %q is not there", m.name, m.from)
		}
		said, ok := check(wrong)
		if ok || !strings.Contains(said, m.place) || !strings.Contains(said, m.fix) {
			n.Errorf("%s: want %q and %q:\n%s", m.name, m.place, m.fix, said)
		}
		if strings.Contains(m.to, "\t") || strings.Contains(m.name, "misspelt") || m.to == "" || strings.Contains(m.to, "mail.example") {
			continue // hides other mistakes in the same place
		}
		all = strings.Replace(all, m.from, m.to, 1)
	}
	said, _ := check(all)
	for _, want := range []string{"yaml:1:", "yaml:2:", "yaml:3:", "yaml:4:", "yaml:5: session.strategy", "yaml:5: session.max_age"} {
		if !strings.Contains(said, "authsvc."+want) {
			n.Errorf("all at once: nothing about authsvc.%s\n%s", want, said)
		}
	}
	missing, err := n.command(dir, "authsvc check -c nowhere.yaml", n.path()).CombinedOutput()
	if err == nil || !bytes.Contains(missing, []byte("nowhere.yaml")) {
		n.Errorf("a file that is not there: %v\n%s", err, missing)
	}
}

func (n *newcomer) write(file, text string) {
	n.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		n.Fatal(err)
	}
}
