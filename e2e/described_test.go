package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"authsvc/internal/test/npm"
)

// TestDescribedTypes checks that clients/js/types.d.ts matches docs/openapi.yaml.
func TestDescribedTypes(t *testing.T) {
	t.Parallel()
	needNode(t)
	tool := filepath.Join("..", "tools", "openapi")
	if err := npm.Install(tool); err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(t.TempDir(), "types.d.ts")
	cmd := exec.CommandContext(t.Context(), filepath.Join("node_modules", ".bin", "openapi-typescript"), filepath.Join("..", "..", "docs", "openapi.yaml"), "--output", made)
	cmd.Dir = tool
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("openapi-typescript: %v\n%s", err, out)
	}
	want, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join("..", "clients", "js", "types.d.ts")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("clients/js/types.d.ts is not what docs/openapi.yaml describes (%v): make types", err)
	}
}

// TestClientsAsDescribed type-checks with tsc that client.js and the React example
// use the answers as docs/openapi.yaml describes them.
func TestClientsAsDescribed(t *testing.T) {
	t.Parallel()
	needNode(t)
	clients := filepath.Join("..", "clients", "js")
	if err := npm.Install(clients); err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Abs(filepath.Join(clients, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"package.json": `{"type": "module"}`, "react.d.ts": reactAsDescribed, "style.css.d.ts": "",
		"tsconfig.json": `{"compilerOptions": {"target": "es2022", "module": "esnext", "moduleResolution": "bundler", "lib": ["es2022", "dom", "dom.iterable"],
			"jsx": "react-jsx", "allowJs": true, "checkJs": true, "noEmit": true, "skipLibCheck": true, "types": []}}`}
	for _, pattern := range []string{filepath.Join(clients, "client.js"), filepath.Join(clients, "types.d.ts"), filepath.Join("..", "examples", "react", "src", "*.js*")} {
		sources, err := filepath.Glob(pattern)
		if err != nil || len(sources) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, source := range sources {
			raw, err := os.ReadFile(source)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.Base(source)] = string(raw)
		}
	}
	delete(files, "main.jsx") // only puts the application on the page
	for _, typed := range asDescribed {
		files[typed.file] = once(t, files[typed.file], typed.untyped, typed.typed)
	}
	compile := func(name, text string) (string, error) {
		dir := t.TempDir()
		if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
			t.Fatal(err)
		}
		for file, content := range files {
			if file == name {
				content = text
			}
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return tsc(t, dir)
	}
	if out, err := compile("", ""); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
	for _, wrong := range []struct{ file, right, wrong, found string }{
		{"client.js", `read("csrf"))?.csrfToken`, `read("csrf"))?.token`, "'token' does not exist"},
		{"client.js", `read("session");`, `read("sessions");`, `"sessions"`},
		{"client.js", "answer?.expires_in", "answer?.expires", "'expires' does not exist"},
		{"Account.jsx", "const { name, email, image }", "const { name, mail, image }", "'mail' does not exist"},
	} {
		if out, err := compile(wrong.file, once(t, files[wrong.file], wrong.right, wrong.wrong)); err == nil || !strings.Contains(out, wrong.found) {
			t.Errorf("%s with %q: %v\n%s", wrong.file, wrong.wrong, err, out)
		}
	}
}

// once replaces the only occurrence of old in text.
func once(t *testing.T, text, old, with string) string {
	t.Helper()
	if n := strings.Count(text, old); n != 1 {
		t.Fatalf("%q is there %d times", old, n)
	}
	return strings.Replace(text, old, with, 1)
}

// asDescribed holds the types of functions that read answers. The sources omit them.
var asDescribed = []struct{ file, untyped, typed string }{
	{"client.js", "async function read(path, init) {", `
/**
 * @typedef {import("./types.d.ts").paths} Paths
 * @typedef {{session: Paths["/api/auth/session"], csrf: Paths["/api/auth/csrf"], providers: Paths["/api/auth/providers"], token: Paths["/api/auth/token"]}} Routes
 */
/**
 * @template {keyof Routes} P
 * @template {"get" | "post"} M
 * @typedef {Routes[P] extends Record<M, {responses: {200: {content: {"application/json": infer B}}}}> ? B : never} Answer
 */
/**
 * @template {keyof Routes} P
 * @param {P} path
 * @param {RequestInit} [init]
 * @returns {Promise<Answer<P, "get"> | null | undefined>}
 */
async function read(path, init) {`},
	{"client.js", "async function post(path, fields) {", `
/**
 * @template {keyof Routes} P
 * @param {P} path
 * @param {object} fields
 * @returns {Promise<Answer<P, "post"> | null | undefined>}
 */
async function post(path, fields) {`},
	{"client.js", "return read(path, {", "return /** @type {any} */ (read)(path, {"},
	{"client.js", "export function configure(", "/** @param {{baseUrl?: string, basePath?: string}} [options] */\nexport function configure("},
	{"useProviders.js", "useState()", `useState(/** @type {import("next-auth/react").ClientSafeProvider[] | null | undefined} */ (undefined))`},
}

// reactAsDescribed gives next-auth/react the described session type.
const reactAsDescribed = `import type { components } from "./types.d.ts";

declare module "next-auth" {
  interface Session {
    user?: components["schemas"]["Session"]["user"] extends infer U ? Pick<NonNullable<U>, "name" | "email" | "image"> : never;
  }
}
`
