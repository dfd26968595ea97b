package e2e

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"authsvc"
	"authsvc/internal/test/npm"
)

// TestFrontEndComponents signs in and out with the components of
// docs/front-ends/vite.md.
func TestFrontEndComponents(t *testing.T) {
	t.Parallel()
	requested(t, "Node and Chromium")
	needClient(t)
	s := newSite(t, func(*site, *authsvc.Config) {})
	for name, entry := range map[string]string{
		"vue":    `import { createApp } from "vue"; import Account from "./Account.vue"; createApp(Account).mount("#root")`,
		"svelte": `import { mount } from "svelte"; import Account from "./Account.svelte"; mount(Account, { target: document.getElementById("root") })`,
	} {
		blocks := pageBlocks(t, "vite.md", name)
		if len(blocks) != 1 {
			t.Fatalf("%d components of %s", len(blocks), name)
		}
		dir, err := os.MkdirTemp(webDir, "component-") // Node finds the packages from there
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		if err := errors.Join(os.WriteFile(filepath.Join(dir, "Account."+name), []byte(blocks[0]), 0o600),
			os.WriteFile(filepath.Join(dir, "main.js"), []byte(entry), 0o600)); err != nil {
			t.Fatal(err)
		}
		script, err := npm.Run(webDir, "bundle.mjs", filepath.Base(dir)+"/main.js")
		if err != nil {
			t.Fatal(err)
		}
		s.mux.HandleFunc("GET /"+name+".js", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
			w.Write(script)
		})
		s.mux.HandleFunc("GET /app/"+name, func(w http.ResponseWriter, _ *http.Request) {
			writePage(w, `<title>App</title><div id="root"></div><script src="/`+name+`.js"></script>`)
		})
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := s.origin + "/app/" + name
			b := newTab(t)
			b.Open(at)
			b.Wait(`document.querySelector("#root button")?.textContent === "Sign in"`)
			b.Click("#root button")
			b.At(s.base + "/signin?callbackUrl=")
			b.Click(".p-op button")
			s.choose(b, "ada")
			b.At(at)
			b.Wait(`document.querySelector("#root button")?.textContent === "Sign out ada@example.com"`)
			if text := b.Text(); strings.Contains(text, "Sign in") {
				t.Errorf("the page also offers to sign in: %s", text)
			}
			b.Click("#root button")
			b.Wait(`document.querySelector("#root button")?.textContent === "Sign in"`)
		})
	}
}
