package migratefrom

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// application writes files into a new folder and returns it.
func application(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const smallest = "import NextAuth from 'next-auth'\nexport default NextAuth({providers: []})\n"

// reported returns the lines of a report.
func reported(t *testing.T, dir string) string {
	t.Helper()
	r, err := Read(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range r.Findings {
		all.WriteString(f.String() + "\n")
	}
	return all.String()
}

// TestFolderStaysInside: links are not followed, and code of others is not read.
func TestFolderStaysInside(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret.ts")
	if err := os.WriteFile(secret, []byte("export const secret = 'hunter2'"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := application(t, map[string]string{
		"auth.ts":                smallest,
		"package.json":           `{"dependencies": {"next-auth": "4.24.0"}}`,
		"node_modules/x/auth.ts": "import NextAuth from 'next-auth'\nNextAuth({providers: [1], session: {}, secret: 1, pages: {}})",
		".next/server/auth.js":   "import NextAuth from 'next-auth'\nNextAuth({providers: [1], session: {}, secret: 1, pages: {}})",
		"src/auth.test.ts":       "import NextAuth from 'next-auth'\nNextAuth({providers: [1], session: {}, secret: 1, pages: {}})",
		"src/next-auth.d.ts":     "import NextAuth from 'next-auth'\nNextAuth({providers: [1], session: {}, secret: 1, pages: {}})",
	})
	for name, to := range map[string]string{"linked.ts": secret, ".env": secret, "above": ".."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	all := reported(t, dir)
	if !strings.HasPrefix(all, "ok    configuration: read (auth.ts:2)\n") {
		t.Errorf("another file was read:\n%s", all)
	}
	for _, want := range []string{"open  files: linked.ts was not read: it is not a regular file\n", "open  files: .env was not read: it is not a regular file\n"} {
		if !strings.Contains(all, want) {
			t.Errorf("no line %q in\n%s", want, all)
		}
	}
}

// TestFolderLimits: files that are too large are named, and too many are refused.
func TestFolderLimits(t *testing.T) {
	t.Parallel()
	large := application(t, map[string]string{"auth.ts": smallest, "a.ts": strings.Repeat(" ", maxFile+1), "b.ts": strings.Repeat(" ", maxFile)}) // three files
	all := reported(t, large)
	if !strings.Contains(all, "open  files: a.ts was not read: it is larger than 1 MiB\n") || strings.Contains(all, "b.ts") {
		t.Errorf("large files:\n%s", all)
	}
	for files, want := range map[int]bool{3: true, 2: false} { // the folder itself counts
		f, err := openFolder(large, files+1)
		if (err == nil) != want {
			t.Errorf("at most %d: %v", files, err)
		}
		if err == nil {
			f.root.Close()
		} else if !strings.Contains(err.Error(), "it has more than 3 files; name the folder of the application itself") {
			t.Error(err)
		}
	}
}

// TestNoControlCharacters: text of the application cannot steer a terminal.
func TestNoControlCharacters(t *testing.T) {
	t.Parallel()
	dir := application(t, map[string]string{
		"auth.ts":      "import NextAuth from 'next-auth'\nimport GitHub from 'next-auth/providers/github'\nexport default NextAuth({providers: [GitHub({'\x1b[31m\u202e': 1, clientId: 'a\x1b\u009b\u2028\"b: ${c}'})]})\n",
		"package.json": `{"dependencies": {"next-auth": "4.24.0\u001b[2J"}}`,
	})
	r, err := Read(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if strings.ContainsAny(f.String(), "\x1b\u202e\u009b\n") {
			t.Errorf("%q", f)
		}
	}
	if config := string(r.Config); strings.ContainsAny(config, "\x1b\u009b\u2028") || !strings.Contains(config, `$${c}`) {
		t.Errorf("%q", config)
	}
}

// TestMoreOptions: of several calls the one with the most options counts, and a call
// with others is named.
func TestMoreOptions(t *testing.T) {
	t.Parallel()
	all := reported(t, application(t, map[string]string{
		"a/auth.ts":         "import NextAuth from 'next-auth'\nNextAuth({providers: [], pages: {signIn: '/a'}})",
		"b/auth.ts":         "import NextAuth from 'next-auth'\nNextAuth({providers: [], pages: {signIn: '/b'}, debug: true})",
		"tests/auth.ts":     "import NextAuth from 'next-auth'\nNextAuth({providers: [], pages: {}, debug: true, events: {}})",
		"package.json":      `{"dependencies": {"next-auth": "^4"}}`,
		"more/package.json": `{`,
	}))
	for _, want := range []string{
		"ok    configuration: read (b/auth.ts:2)",
		"note  configuration: has options, too, which were not read: b/auth.ts has more (a/auth.ts:2)",
		"open  files: is not JSON: dependencies and version are unknown (more/package.json)",
	} {
		if !strings.Contains(all, want+"\n") {
			t.Errorf("no line %q in\n%s", want, all)
		}
	}
}

// TestVersions: the version comes from a lock file, else from package.json, else from
// the style of the sources.
func TestVersions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"npm":     {map[string]string{"package-lock.json": "{\"packages\": {\"node_modules/next-auth\": {\n\"version\": \"4.24.7\"}}}"}, "ok    version: next-auth 4.24.7 (package-lock.json)"},
		"yarn":    {map[string]string{"yarn.lock": "\"next-auth@npm:^4.0.0\":\n  version: 4.24.8\n"}, "ok    version: next-auth 4.24.8 (yarn.lock)"},
		"yarn 1":  {map[string]string{"yarn.lock": "next-auth@^4.0.0:\n  version \"4.24.9\"\n"}, "ok    version: next-auth 4.24.9 (yarn.lock)"},
		"bun":     {map[string]string{"bun.lock": `{"packages": {"next-auth": ["next-auth@5.0.0-beta.1", ""]}}`}, "ok    version: next-auth 5.0.0-beta.1 (bun.lock)"},
		"pnpm":    {map[string]string{"pnpm-lock.yaml": "packages:\n  /next-auth@4.24.6(next@13):\n"}, "ok    version: next-auth 4.24.6 (pnpm-lock.yaml)"},
		"old":     {map[string]string{"package.json": `{"dependencies": {"next-auth": "^3.29.0"}}`}, "open  version: next-auth ^3.29.0: authsvc shares cookies and tables with versions 4 and 5 only; update NextAuth.js first (package.json)"},
		"beta":    {map[string]string{"package.json": `{"dependencies": {"next-auth": "beta"}}`}, "ok    version: next-auth beta (package.json)"},
		"unknown": {nil, "open  version: unknown: no package.json or lock file has next-auth with a number; the proposal takes it for version 4"},
		"handler": {map[string]string{"route.ts": "// next-auth\nexport const {GET} = handlers"}, "open  version: unknown: no package.json or lock file has next-auth with a number; the proposal takes it for version 5"},
	} {
		files := map[string]string{"auth.ts": smallest}
		for file, text := range c.files {
			files[file] = text
		}
		if all := reported(t, application(t, files)); !strings.Contains(all, c.want+"\n") {
			t.Errorf("%s: no line %q in\n%s", name, c.want, all)
		}
	}
}

// TestSelfReference: values that refer to themselves are reported, and end.
func TestSelfReference(t *testing.T) {
	t.Parallel()
	for _, options := range []string{
		"const a = {...a, ...a}; NextAuth(a)",
		"const a = [...a, ...a]; NextAuth({providers: a})",
		"const a = x ? a : a; NextAuth({callbacks: {session: ({session}) => a}, providers: []})",
		"const a = a ?? a; NextAuth({callbacks: {session({session}) { session.user.b = a; return session }}, providers: []})",
		"const a = `${a}${a}`; NextAuth({secret: a, basePath: a, pages: {signIn: a}, providers: []})",
		"const a = b, b = a; NextAuth({adapter: a, session: a, providers: a})",
		"const a = () => a; NextAuth(a)",
	} {
		all := reported(t, application(t, map[string]string{"auth.ts": "import NextAuth from 'next-auth'\n" + options}))
		if !strings.Contains(all, "not understood") {
			t.Errorf("%s:\n%s", options, all)
		}
	}
}
