package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"authsvc/internal/test/npm"
)

// strangers holds small projects in TypeScript that install the packed client beside a
// framework: the packages of the framework, how a component gets the session, and the
// expressions that must have a type, of which the first one is the session.
var strangers = map[string]struct{ packages, uses, typed string }{
	"react": {"react @types/react", `const state = useSession();`, "state.data state state.status state.update"},
	"vue":   {"vue", `const { data, status, update } = useSession();`, "data.value data status status.value update"},
	"svelte": {"svelte", `import { get } from "svelte/store";
const store = useSession();
const state = get(store);`, "state.data store state state.status state.update"},
	"solid": {"solid-js", `const state = useSession();`, "state.data state state.status state.update"},
}

// program returns the source of a project. A value of type any is also a number, and
// tsc reports a line that must not compile and does.
func program(framework, uses, typed string) string {
	text := `import { getSession, signIn, useSession } from "authsvc-client/` + framework + `";
import type { Session } from "authsvc-client";
` + uses + `
const session: Session | null | undefined = ` + strings.Fields(typed)[0] + `;
export const name: string | null | undefined = session?.user?.name;
`
	for i, expression := range append(strings.Fields(typed), "session?.user", "useSession", "getSession", "getSession()", "signIn") {
		text += fmt.Sprintf("// @ts-expect-error the type must not be any\nexport const number%d: number = %s;\n", i, expression)
	}
	return text
}

// TestTarball installs the packed client as a stranger does, and compiles a project
// that knows the types of everything. A symbolic link instead, or a missing framework,
// would make them any, which tsc does not mention.
func TestTarball(t *testing.T) {
	t.Parallel()
	needNode(t)
	client := filepath.Join("..", "clients", "js")
	if err := npm.Install(client); err != nil {
		t.Fatal(err)
	}
	modules, err := filepath.Abs(filepath.Join(client, "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	tarball, err := npm.Tarball(client, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for framework, p := range strangers {
		t.Run(framework, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			files := map[string]string{"package.json": `{"name": "stranger", "private": true, "type": "module"}`,
				"main.ts":       program(framework, p.uses, p.typed),
				"tsconfig.json": `{"compilerOptions": {"target": "es2022", "module": "esnext", "moduleResolution": "bundler", "lib": ["es2022", "dom"], "strict": true, "noEmit": true, "skipLibCheck": true, "types": []}, "files": ["main.ts"]}`}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			install := exec.CommandContext(t.Context(), "npm", append([]string{"install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", tarball}, pinned(t, strings.Fields(p.packages))...)...)
			install.Dir = dir
			if out, err := install.CombinedOutput(); err != nil {
				t.Fatalf("npm install: %v\n%s", err, out)
			}
			compile := func() (string, error) {
				cmd := exec.CommandContext(t.Context(), filepath.Join(modules, ".bin", "tsc"), "--pretty", "false")
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				return string(out), err
			}
			if out, err := compile(); err != nil {
				t.Errorf("tsc: %v\n%s", err, out)
			}
			if framework != "vue" {
				return
			}
			// Without Vue's types, data is any.
			if err := os.RemoveAll(filepath.Join(dir, "node_modules", "vue")); err != nil {
				t.Fatal(err)
			}
			if out, err := compile(); err == nil || !strings.Contains(out, "Unused '@ts-expect-error' directive") {
				t.Errorf("twin: without Vue: %v\n%s", err, out)
			}
		})
	}
}

// pinned adds to each package the version that our own tests have.
func pinned(t *testing.T, packages []string) (versions []string) {
	t.Helper()
	for _, name := range packages {
		var installed struct{ Version string }
		for _, project := range []string{filepath.Join("..", "clients", "js"), webDir} {
			raw, err := os.ReadFile(filepath.Join(project, "node_modules", filepath.FromSlash(name), "package.json"))
			if err != nil {
				continue
			}
			if err := json.Unmarshal(raw, &installed); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if installed.Version == "" {
			t.Fatalf("no project of ours has %s", name)
		}
		versions = append(versions, name+"@"+installed.Version)
	}
	return versions
}
