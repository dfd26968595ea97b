package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// repository writes the first files of testdata/tree.txtar to a new repository, and
// returns it with the files that a move to git.example.org/team/authsvc gives.
func repository(t *testing.T) (dir string, moved map[string]string) {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", "tree.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	dir, moved = t.TempDir(), map[string]string{}
	for _, f := range archive.Files {
		if name, later := strings.CutPrefix(f.Name, "moved/"); later {
			moved[name] = string(f.Data)
			continue
		}
		moved[f.Name] = string(f.Data)
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, dir, "init", "-q")
	commit(t, dir)
	return dir, moved
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func commit(t *testing.T, dir string) {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", "a step")
}

// read returns the tracked files of a repository.
func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for name := range strings.FieldsSeq(git(t, dir, "ls-files")) {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(raw)
	}
	return files
}

// TestRehome moves a small repository, again to the same place, and to another one.
func TestRehome(t *testing.T) {
	t.Parallel()
	dir, want := repository(t)
	var out strings.Builder
	move := func(args ...string) {
		t.Helper()
		out.Reset()
		if err := run(t.Context(), &out, dir, args); err != nil {
			t.Fatal(err)
		}
	}
	move("git.example.org/team/authsvc")
	if diff := cmp.Diff(want, read(t, dir)); diff != "" {
		t.Errorf("(-want +have)\n%s", diff)
	}
	if !strings.Contains(out.String(), "16 files: the module is git.example.org/team/authsvc, the npm package @team/authsvc-client") {
		t.Error(out.String())
	}
	commit(t, dir)

	move("git.example.org/team/authsvc")
	if changes := git(t, dir, "status", "--porcelain"); changes != "" || !strings.Contains(out.String(), "nothing to change") {
		t.Errorf("the second run changed files: %s%s", out.String(), changes)
	}

	move("-npm", "sign-in", "code.example.net/auth")
	for name, text := range want {
		want[name] = strings.NewReplacer("git.example.org/team/authsvc", "code.example.net/auth", "@team/authsvc-client", "sign-in", "team-authsvc-client-", "sign-in-").Replace(text)
	}
	if diff := cmp.Diff(want, read(t, dir)); diff != "" {
		t.Errorf("to another place (-want +have)\n%s", diff)
	}
	commit(t, dir)
	move("-npm", "sign-in", "code.example.net/auth")
	if !strings.Contains(out.String(), "nothing to change") {
		t.Error(out.String())
	}
}

// TestRefusals: a run that is refused says why and what to do, and changes nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	dir, _ := repository(t)
	before := read(t, dir)
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"no path":          {nil, []string{"name one path", "git.example.org/team/authsvc"}},
		"two paths":        {[]string{"a.example/b", "a.example/c"}, []string{"name one path"}},
		"a word":           {[]string{"authsvc"}, []string{"missing dot in first path element", "such as git.example.org/team/authsvc"}},
		"a host":           {[]string{"git.example.org"}, []string{"only a host", "git.example.org/team/authsvc"}},
		"an address":       {[]string{"https://git.example.org/team/authsvc"}, []string{"write git.example.org/team/authsvc"}},
		"a clone address":  {[]string{"https://git.example.org/team/authsvc.git"}, []string{"write git.example.org/team/authsvc"}},
		"a slash":          {[]string{"git.example.org/team/authsvc/"}, []string{"write git.example.org/team/authsvc"}},
		"a version":        {[]string{"git.example.org/team/authsvc/v2"}, []string{"v0", "write git.example.org/team/authsvc"}},
		"a space":          {[]string{"git.example.org/my team"}, []string{"invalid char ' '"}},
		"dots":             {[]string{"git.example.org/../authsvc"}, []string{"..", "such as git.example.org/team/authsvc"}},
		"a bad npm name":   {[]string{"-npm", "Auth Client", "git.example.org/team/authsvc"}, []string{`"Auth Client"`, "-npm"}},
		"both":             {[]string{"-npm", "Auth Client", "authsvc"}, []string{"missing dot", `"Auth Client"`}},
		"an unknown flag":  {[]string{"-name", "x", "a.example/b"}, []string{"not defined"}},
		"a quote":          {[]string{`git.example.org/"authsvc`}, []string{"invalid char"}},
		"a line in a path": {[]string{"git.example.org/a\nb"}, []string{"invalid char"}},
	} {
		err := run(t.Context(), &strings.Builder{}, dir, c.args)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
	}
	if diff := cmp.Diff(before, read(t, dir)); diff != "" {
		t.Error(diff)
	}

	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "config", "status.showUntrackedFiles", "no") // a setting of the machine, which must not matter
	err := run(t.Context(), &strings.Builder{}, dir, []string{"authsvc"})
	if err == nil || !strings.Contains(err.Error(), "notes.txt") || !strings.Contains(err.Error(), "commit or remove them first") || !strings.Contains(err.Error(), "missing dot") {
		t.Errorf("a tree with changes: %v", err)
	}
	if err := run(t.Context(), &strings.Builder{}, filepath.Join(dir, "docs"), []string{"a.example/b"}); err == nil || !strings.Contains(err.Error(), "not the root") {
		t.Errorf("in a folder of the tree: %v", err)
	}
}

// TestWriteFails: if a file cannot be written, none is changed. Git does not list an
// empty folder.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	dir, _ := repository(t)
	if err := os.Mkdir(filepath.Join(dir, "go.mod.rehome"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), &strings.Builder{}, dir, []string{"git.example.org/team/authsvc"})
	if err == nil || !strings.Contains(err.Error(), "go.mod.rehome") || !strings.Contains(err.Error(), "git checkout . restores") {
		t.Errorf("%v", err)
	}
	if changes := git(t, dir, "status", "--porcelain"); changes != "" {
		t.Errorf("files are changed:\n%s", changes)
	}
}

// TestPlaces checks that this repository has each place that a rule is for, so that no
// rule is without effect.
func TestPlaces(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	from, err := current(root)
	if err != nil {
		t.Fatal(err)
	}
	tracked := strings.Fields(git(t, root, "ls-files", "README.md", "go.mod", "*/go.mod", "docs/openapi.yaml", "docs/manual/README.md", "clients/js", "engine/service.go", "adapter/mysql", ".ci"))
	to := home{path: "git.example.org/team/sign-in", npm: "@team/sign-in"}
	files, err := rewriteAll(root, tracked, from, to)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for _, f := range files {
		name, err := filepath.Rel(root, f.name)
		if err != nil {
			t.Fatal(err)
		}
		have[name] = string(f.data)
	}
	want := map[string]string{
		"go.mod":                  `(?m)^module git\.example\.org/team/sign-in$`,
		"bench/go.mod":            `(?m)^replace git\.example\.org/team/sign-in => \.\./$`,
		"README.md":               "```sh\ngo get git\\.example\\.org/team/sign-in\n```",
		"docs/openapi.yaml":       `(?m)^externalDocs:\n.*\n  url: https://git\.example\.org/team/sign-in$`,
		"clients/js/package.json": `"url": "git\+https://git\.example\.org/team/sign-in\.git"`,
		"clients/js/vue.d.ts":     `@team/sign-in/vue`,
		"docs/manual/README.md":   "`go doc git\\.example\\.org/team/sign-in`",
		".ci/errcheck.txt":        `\(\*git\.example\.org/team/sign-in/adapter/mysql\.Store\)\.Close`,
	}
	for name, pattern := range want {
		if !regexp.MustCompile(pattern).MatchString(have[name]) {
			t.Errorf("%s does not match %s", name, pattern)
		}
	}
	if strings.Contains(have["README.md"], "-replace=") {
		t.Error("README.md still replaces the module")
	}
}
