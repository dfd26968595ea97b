package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"authsvc/internal/dev/mailbox"
	httpbrowser "authsvc/internal/test/browser"
	"authsvc/internal/test/chromium"
	"authsvc/internal/test/freeport"
	"authsvc/internal/test/logbuffer"
	"authsvc/internal/test/npm"
	"authsvc/internal/test/process"
)

// frontEndsDir holds the applications of docs/front-ends, except that of next.md.
const frontEndsDir = "frontends"

// pageBlocks returns the code blocks of a language of a page in docs/front-ends.
func pageBlocks(t *testing.T, page, language string) (blocks []string) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "docs", "front-ends", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(raw), "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no block of %s", page, language)
	}
	return blocks
}

// pageCommands lists the commands of each page that tests run, most of them with other
// ports. In nuxt.md, `nitro build` stands for `nuxt build`, which needs a newer Node.js.
var pageCommands = map[string][]string{
	"next.md": {"npm pack ../authsvc/clients/js", "npm install ./authsvc-client-0.1.0.tgz", // TestNewcomer runs the first four
		"authsvc dev --url http://localhost:3001", "npx next dev -p 3001",
		"export AUTHSVC_PROXY_KEY=$(authsvc secret)", "authsvc serve", "npx next build", "npx next start"},
	"nuxt.md":      {"export AUTHSVC_PROXY_KEY=$(authsvc secret)", "authsvc serve", "npx nuxt build", "node .output/server/index.mjs"},
	"sveltekit.md": {"export AUTHSVC_PROXY_KEY=$(authsvc secret)", "authsvc serve", "npx vite build", "node build"},
	"vite.md":      {"authsvc dev --url http://localhost:5173", "npx vite"},
}

// TestFrontEndPages: the files on a page are the files that tests run, and so are the
// commands.
func TestFrontEndPages(t *testing.T) {
	t.Parallel()
	dirs := map[string]string{"next.md": nextDir, "nuxt.md": frontEndsDir + "/nuxt", "sveltekit.md": frontEndsDir + "/sveltekit", "vite.md": ""}
	elsewhere := map[string]string{"pages/api/auth/[...nextauth].js": "pages/api/login/[...path].js"} // one application cannot have both routers at one path
	for page, dir := range dirs {
		var commands []string
		for _, block := range pageBlocks(t, page, "sh") {
			commands = append(commands, strings.Split(strings.TrimSpace(block), "\n")...)
		}
		if !slices.Equal(commands, pageCommands[page]) {
			t.Errorf("%s has the commands %q, and tests run %q", page, commands, pageCommands[page])
		}
		for _, block := range pageBlocks(t, page, "js") {
			first, code, _ := strings.Cut(block, "\n")
			name, ok := strings.CutPrefix(first, "// ")
			if other := elsewhere[name]; other != "" {
				name = other
			}
			if name == "next.config.mjs" || name == "proxy.js" || dir == "" {
				continue // TestFrontEndRewrites, TestNewcomer and TestFrontEndVite read it from the page
			}
			want, err := os.ReadFile(filepath.Join(dir, name))
			if !ok || err != nil || string(want) != code {
				t.Errorf("%s: %q is not the file of the tests: %v", page, first, err)
			}
		}
	}
	pages, err := filepath.Glob("../docs/front-ends/*.md")
	if err != nil || len(pages) != len(dirs)+1 { // and vercel.md
		t.Errorf("pages %q, %v", pages, err)
	}
	vercel, err := os.ReadFile("../docs/front-ends/vercel.md")
	if err != nil || strings.Contains(string(vercel), "```sh") || !strings.Contains(string(vercel), "The tests do not run the commands of this page") {
		t.Errorf("vercel.md must say that its commands are not run: %v", err)
	}
}

// TestFrontEndRewrites: the rewrites of next.md are those of the application that the
// browser visits, except that the application has them at one of its names only.
func TestFrontEndRewrites(t *testing.T) {
	t.Parallel()
	requested(t, "Node")
	file := filepath.Join(t.TempDir(), "next.config.mjs")
	block := pageBlocks(t, "next.md", "js")[2]
	if !strings.HasPrefix(block, "// next.config.mjs\n") {
		t.Fatalf("the block is\n%s", block)
	}
	if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	const compare = `import assert from "node:assert/strict"
import { pathToFileURL } from "node:url"
process.env.AUTHSVC_INTERNAL_URL = process.env.AUTHSVC_REWRITES = "http://auth.internal:3001"
const shown = await (await import(pathToFileURL(process.argv[1]))).default.rewrites()
const { beforeFiles: [{ has, ...tested }, ...more] } = await (await import(pathToFileURL("next/next.config.mjs"))).default.rewrites()
assert.deepEqual([shown, more, has.length], [[tested], [], 1])`
	if out, err := exec.CommandContext(t.Context(), "node", "--input-type=module", "--eval", compare, file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// withOrigin sends the Origin that a browser sends with a form.
type withOrigin struct{ origin string }

func (w withOrigin) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost && r.Header.Get("Origin") == "" {
		r = r.Clone(r.Context())
		r.Header.Set("Origin", w.origin)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// startProgram runs a server in dir until the test ends. If port is 0, the program
// prints it. It returns the server's address.
func startProgram(t *testing.T, dir string, port int, env []string, command ...string) string {
	t.Helper()
	logs := &logbuffer.Buffer{}
	program := exec.CommandContext(t.Context(), command[0], command[1:]...)
	program.Dir, program.Env, program.Stderr = dir, append(os.Environ(), env...), logs
	out, err := program.StdoutPipe()
	if err := errors.Join(err, program.Start()); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(out)
	t.Cleanup(func() {
		program.Process.Kill() //nolint:errcheck // it may have ended
		program.Wait()         //nolint:errcheck // killed
		if t.Failed() {
			t.Logf("%s said\n%.4000s", strings.Join(command, " "), logs)
		}
	})
	address := fmt.Sprintf("http://127.0.0.1:%d", port)
	if port == 0 {
		line, err := said.ReadString('\n')
		if err != nil {
			t.Fatalf("%s prints no port: %v\n%s", strings.Join(command, " "), err, logs)
		}
		address = "http://127.0.0.1:" + strings.TrimSpace(line)
	}
	go said.WriteTo(logs) //nolint:errcheck // until the program ends
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		res, err := http.Get(strings.Replace(address, "127.0.0.1", "localhost", 1) + "/nosuch")
		if err == nil {
			res.Body.Close()
			return address
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not answer: %v\n%s", strings.Join(command, " "), err, logs)
		}
	}
}

// builtFrontEnd installs the packages, runs a command in the application's folder and
// returns the folder.
func builtFrontEnd(t *testing.T, name string, command ...string) string {
	t.Helper()
	if err := errors.Join(npm.Install(frontEndsDir), npm.Pack(filepath.Join("..", "clients", "js"), frontEndsDir)); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(frontEndsDir, name)
	build := exec.CommandContext(t.Context(), "node", append([]string{filepath.Join("..", "node_modules", command[0])}, command[1:]...)...)
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return dir
}

// TestFrontEndServers signs in through the handler in each framework except Next.js.
func TestFrontEndServers(t *testing.T) {
	t.Parallel()
	needClient(t)
	own := func(dir string, command ...string) func(*testing.T, []string) string {
		return func(t *testing.T, env []string) string { return startProgram(t, dir, 0, env, command...) }
	}
	servers := map[string]func(*testing.T, []string) string{
		"express": own(webDir, "node", "frontend.mjs", "express"), "hono": own(webDir, "node", "frontend.mjs", "hono"),
	}
	if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
		if err := installedRuntimes(); err != nil {
			t.Fatal(err)
		}
		for kind, command := range runtimes {
			command = slices.Clone(command)
			command[len(command)-1] = "frontend.mjs"
			servers[kind] = own(runtimesDir, command...)
		}
	}
	built := func(dir, script string) func(*testing.T, []string) string {
		return func(t *testing.T, env []string) string {
			port, err := freeport.Pick(1)
			if err != nil {
				t.Fatal(err)
			}
			env = append(env, "HOST=127.0.0.1", fmt.Sprintf("PORT=%d", port), fmt.Sprintf("ORIGIN=http://127.0.0.1:%d", port))
			return startProgram(t, dir, port, env, "node", script)
		}
	}
	servers["nuxt"] = built(builtFrontEnd(t, "nuxt", "nitropack/dist/cli/index.mjs", "build"), ".output/server/index.mjs")
	servers["sveltekit"] = built(builtFrontEnd(t, "sveltekit", "vite/bin/vite.js", "build"), "build")
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := "nuxt.md"
			if name == "sveltekit" {
				page = "sveltekit.md"
			}
			n := process.NewNeighbours(t)
			config := n.YAML(ownKeys(pageBlocks(t, page, "yaml")[0]))
			p := process.Prepare(t, config, "AUTHSVC_STORAGE_URL=memory:", "AUTHSVC_PROXY_KEY="+frontEndKey)
			origin := start(t, []string{"AUTHSVC=" + p.URL, "AUTHSVC_INTERNAL_URL=" + p.URL, "AUTHSVC_PROXY_KEY=" + frontEndKey, "DENO_NO_UPDATE_CHECK=1", "DENO_DIR=" + t.TempDir()})
			p.Configure(strings.ReplaceAll(config, "{origin}", origin))
			p.Start()
			p.Ready(chromium.Patience)
			useFrontEnd(t, p, n, origin)
		})
	}
}

// useFrontEnd signs in and out at a server that passes requests on.
func useFrontEnd(t *testing.T, p *process.Process, n *process.Neighbours, origin string) {
	t.Helper()
	b := httpbrowser.New(origin, withOrigin{origin})
	if err := b.SignIn(n.OP, "ada"); err != nil {
		t.Fatal(err)
	}
	if email, err := b.Email(); email != "ada@example.com" || err != nil {
		t.Errorf("signed in as %q, %v", email, err)
	}
	get := func(path string, header ...string) *httpbrowser.Answer {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, origin+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(header); i += 2 {
			if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
				r.Host = header[i+1]
			}
		}
		a, err := b.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	page := get("/api/auth/account", "Accept", "text/html")
	if page.StatusCode != http.StatusOK || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") || strings.Contains(page.Text, p.Addr) {
		t.Errorf("the account page: %d %v", page.StatusCode, page.Header)
	}
	style := get("/api/auth/signin").Text
	if _, style, _ = strings.Cut(style, `rel="stylesheet" href="`); style == "" {
		t.Error("no style sheet")
	}
	style, _, _ = strings.Cut(style, `"`)
	if u, err := url.Parse(style); err != nil || get(u.Path).StatusCode != http.StatusOK {
		t.Errorf("the style sheet %s: %v", style, err)
	}
	if a := get("/api/auth/signin", "Host", "evil.test"); a.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("another host: %d %.200s", a.StatusCode, a.Text)
	}
	crossSite, err := http.NewRequestWithContext(t.Context(), http.MethodPost, origin+"/api/auth/signout", strings.NewReader("csrfToken=x"))
	if err != nil {
		t.Fatal(err)
	}
	crossSite.Header = http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Origin": {"http://evil.test"}, "Sec-Fetch-Site": {"cross-site"}}
	if a, err := b.Do(crossSite); err != nil || a.StatusCode != http.StatusForbidden {
		t.Errorf("a form of another site: %v %v", a, err)
	}
	if !strings.Contains(p.Logs.String(), "client=127.0.0.1") {
		t.Error("the service does not know the client's address")
	}
	if err := b.SignOut(); err != nil {
		t.Error(err)
	}
	if email, err := b.Email(); email != "" || err != nil {
		t.Errorf("after the sign-out: %q, %v", email, err)
	}
	// A page asks for a click, unless the browser says that a person opens the link.
	if _, err := b.Post("/api/auth/signin/email", "email", "grace@example.com"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), chromium.Patience)
	defer cancel()
	m, err := n.Box.Wait(ctx, func(m mailbox.Message) bool { return strings.HasPrefix(m.Link(), origin+"/api/auth/callback/email?") })
	if err != nil {
		t.Fatal(err)
	}
	link := strings.TrimPrefix(m.Link(), origin)
	if a := get(link, "Sec-Fetch-Mode", "cors"); a.StatusCode != http.StatusOK {
		t.Errorf("a script opens the link: %d %.200s", a.StatusCode, a.Text)
	}
	if a := get(link, "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); a.StatusCode != http.StatusFound {
		t.Errorf("a person opens the link: %d %.200s", a.StatusCode, a.Text)
	}
	if email, err := b.Email(); email != "grace@example.com" || err != nil {
		t.Errorf("signed in by mail as %q, %v", email, err)
	}
}

// TestFrontEndVite signs in through Vite's development server, at `authsvc dev`, and
// with changeOrigin and xfwd at `authsvc serve`.
func TestFrontEndVite(t *testing.T) {
	t.Parallel()
	needNode(t)
	if err := npm.Install(frontEndsDir); err != nil {
		t.Fatal(err)
	}
	vite := func(t *testing.T, port int, to string, change ...string) {
		t.Helper()
		config := strings.NewReplacer(append(change, "5173", fmt.Sprint(port), "http://localhost:3000", to)...).Replace(onlyPageBlock(t))
		dir := t.TempDir()
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "vite.config.js"), []byte(config), 0o600), os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o600)); err != nil {
			t.Fatal(err)
		}
		command, err := filepath.Abs(filepath.Join(frontEndsDir, "node_modules", "vite", "bin", "vite.js"))
		if err != nil {
			t.Fatal(err)
		}
		startProgram(t, dir, port, nil, "node", command)
	}
	port := func(t *testing.T) int {
		t.Helper()
		free, err := freeport.Pick(1)
		if err != nil {
			t.Fatal(err)
		}
		return free
	}
	t.Run("dev", func(t *testing.T) {
		t.Parallel()
		front := port(t)
		origin := fmt.Sprintf("http://localhost:%d", front)
		at, issuer := runDev(t, origin)
		vite(t, front, at)
		b := newTab(t)
		b.Open(origin + "/api/auth/signin?callbackUrl=%2Fapi%2Fauth%2Faccount")
		b.Click(".p-dev button")
		b.At(issuer)
		b.Click("button[value='ada']")
		b.At(origin + "/api/auth/account")
		b.Shows("Ada Lovelace")
	})
	t.Run("changed origin", func(t *testing.T) {
		t.Parallel()
		front := port(t)
		origin := fmt.Sprintf("http://localhost:%d", front)
		n := process.NewNeighbours(t)
		p := process.Serve(t, strings.ReplaceAll(n.YAML(ownKeys(pageBlocks(t, "vite.md", "yaml")[0])), "{origin}", origin), "AUTHSVC_STORAGE_URL=memory:")
		vite(t, front, p.URL, "changeOrigin: false", "changeOrigin: true, xfwd: true")
		b := httpbrowser.New(origin, nil)
		if err := b.SignIn(n.OP, "ada"); err != nil {
			t.Fatal(err)
		}
		if email, err := b.Email(); email != "ada@example.com" || err != nil {
			t.Errorf("signed in as %q, %v", email, err)
		}
	})
}

func onlyPageBlock(t *testing.T) string {
	t.Helper()
	blocks := pageBlocks(t, "vite.md", "js")
	if len(blocks) != 1 {
		t.Fatalf("%d blocks", len(blocks))
	}
	return blocks[0]
}
