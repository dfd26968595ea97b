//go:build newcomer

package newcomer

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"authsvc/internal/test/chromium"
	"authsvc/internal/test/npm"
)

// useNext follows docs/front-ends/next.md with the smallest Next.js application, which
// is beside the clone: its commands, its files, and a sign-in at authsvc dev. The
// packages are those of e2e/next, and `next dev` builds only the pages that are opened.
func (n *newcomer) useNext() {
	n.Helper()
	raw, err := os.ReadFile(filepath.Join(n.clone, "docs", "front-ends", "next.md"))
	if err != nil {
		n.Fatal(err)
	}
	packages, err := filepath.Abs(filepath.Join("..", "next"))
	if err != nil {
		n.Fatal(err)
	}
	if err := npm.Install(packages); err != nil {
		n.Fatal(err)
	}
	shop := filepath.Join(n.home, "shop")
	add := func(name, text string) {
		file := filepath.Join(shop, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			n.Fatal(err)
		}
		n.write(file, text)
	}
	add("app/layout.js", "export default function Layout({ children }) {\n  return <html lang=\"en\"><body>{children}</body></html>\n}\n")
	add("app/page.js", "import Who from \"./who\"\n\nexport default function Home() {\n  return <Who />\n}\n")
	add("next.config.mjs", "export default { cacheComponents: true }\n") // as create-next-app writes it
	n.run(shop, "cp "+packages+"/package.json "+packages+"/package-lock.json "+packages+"/.npmrc . && (cp -al "+packages+"/node_modules . || cp -a "+packages+"/node_modules .) && rm -rf node_modules/authsvc-client && touch node_modules/.package-lock.json")

	var commands []string
	for _, block := range regexp.MustCompile("(?s)```([a-z]+)\n(.*?)```").FindAllStringSubmatch(string(raw), -1) {
		switch language, text := block[1], block[2]; language {
		case "sh":
			commands = append(commands, strings.Split(strings.TrimSpace(text), "\n")...)
		case "ini":
			add(".env.local", text)
		case "js", "jsx":
			name, code, _ := strings.Cut(strings.TrimPrefix(text, "// "), "\n")
			if name != "next.config.mjs" && !strings.HasPrefix(name, "pages/") { // the other ways to pass requests on
				add(name, code)
			}
		}
	}
	if len(commands) < 4 || !strings.HasPrefix(commands[2], "authsvc dev ") || !strings.HasPrefix(commands[3], "npx next dev ") {
		n.Fatalf("docs/front-ends/next.md begins with the commands %q", commands)
	}
	cache, err := exec.Command("npm", "config", "get", "cache").Output() // as with the caches of the go command
	if err != nil {
		n.Fatal(err)
	}
	quiet := []string{n.path(), "NEXT_TELEMETRY_DISABLED=1", "npm_config_cache=" + strings.TrimSpace(string(cache)),
		"npm_config_prefer_offline=true", "npm_config_audit=false", "npm_config_fund=false", "npm_config_update_notifier=false"}
	for _, command := range commands[:2] {
		n.run(shop, command, quiet...)
	}
	stopDev := n.serve(shop, commands[2], "http://localhost:3000/", quiet...)
	defer func() { stopDev() }()
	const origin = "http://localhost:3001"
	stopNext := n.serve(shop, commands[3], origin+"/", quiet...)
	defer func() {
		if said := stopNext(); n.Failed() {
			n.Logf("Next.js said\n%.4000s", said)
		}
	}()

	browser, err := chromium.Start(chromium.Options{})
	if err != nil {
		n.Fatal(err)
	}
	defer browser.Close()
	b := browser.Tab(n)
	b.Open(origin + "/account")
	b.At(origin + "/api/auth/signin?callbackUrl=")
	b.Click(".p-dev button")
	shows(b, "Ada Lovelace")
	b.Click("button.person")
	b.At(origin + "/account")
	shows(b, "ada@example.com")
	if email := chromium.Eval[string](b, `fetch("/api/auth/session").then((r) => r.json()).then((session) => session.user?.email ?? "")`); email != "ada@example.com" {
		n.Errorf("GET session through Next.js has the address %q", email)
	}
	b.Open(origin + "/")
	shows(b, "Sign out ada@example.com")
}
