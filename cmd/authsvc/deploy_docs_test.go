package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// deployPage is docs/deploy.md.
func deployPage(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "docs", "deploy.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// deployBlocks returns the lines of the shell blocks below each heading of
// docs/deploy.md, and which of the headings says that no test runs them.
func deployBlocks(t *testing.T) (blocks map[string][][]string, notRun map[string]bool) {
	t.Helper()
	blocks, notRun = map[string][][]string{}, map[string]bool{}
	for section := range strings.SplitSeq(deployPage(t), "\n#") {
		heading, text, _ := strings.Cut(strings.TrimLeft(section, "# "), "\n")
		for _, m := range regexp.MustCompile("(?s)```sh\n(.*?)```\n").FindAllStringSubmatch(text, -1) {
			blocks[heading] = append(blocks[heading], strings.Split(strings.TrimRight(m[1], "\n"), "\n"))
		}
		notRun[heading] = strings.Contains(text, "(The tests do not run this example.)")
	}
	return blocks, notRun
}

// TestDeployCommands: a test runs each block of commands in docs/deploy.md, or the page
// says that none does.
func TestDeployCommands(t *testing.T) {
	t.Parallel()
	run := map[string]int{ // blocks below the heading that a test runs
		"Install it": 2, "Configure it": 1, "Start it": 1, "Upgrade": 2, "Roll back": 1, // testInstall
		"Replace it without signing people out": 2, "After a leak of the secret": 1, // testInstall
		"SQLite": 2, "PostgreSQL": 2, "MySQL and MariaDB": 2, "Redis": 1, // TestRestore
	}
	blocks, notRun := deployBlocks(t)
	for heading, list := range blocks {
		if want := run[heading]; len(list) != want && !notRun[heading] {
			t.Errorf("%d blocks below %q, and tests run %d", len(list), heading, want)
		} else if want > 0 && notRun[heading] {
			t.Errorf("tests run the commands below %q, and the page says that they do not", heading)
		}
	}
	for heading := range run {
		if blocks[heading] == nil {
			t.Errorf("no commands below %q", heading)
		}
	}
}

// TestDeployPostgreSQL: with the two changes that docs/deploy.md names, the configuration
// of the unit uses PostgreSQL, and without them SQLite.
func TestDeployPostgreSQL(t *testing.T) {
	t.Parallel()
	page := deployPage(t)
	line := regexp.MustCompile("delete the line that begins with `([^`]+)`").FindStringSubmatch(page)
	variable := regexp.MustCompile("add `AUTHSVC_STORAGE_URL=([^`]+)`").FindStringSubmatch(page)
	raw, err := os.ReadFile(filepath.Join("..", "..", "deploy", "authsvc.yaml"))
	if err != nil || line == nil || variable == nil {
		t.Fatal(err, line, variable)
	}
	removed := regexp.MustCompile("(?m)^"+line[1]+".*\n").ReplaceAllString(string(raw), "")
	if strings.Count(removed, "\n")+1 != strings.Count(string(raw), "\n") {
		t.Errorf("it is not one line that begins with %s", line[1])
	}
	for _, c := range []struct{ config, variable, want string }{
		{string(raw), "", "sqlite:///var/lib/authsvc/authsvc.db"},
		{removed, variable[1], variable[1]},
	} {
		file := filepath.Join(t.TempDir(), "authsvc.yaml")
		writeFile(t, file, []byte(c.config))
		p := &program{ctx: t.Context(), configPath: file, stdout: io.Discard, stderr: io.Discard, env: map[string]string{
			"AUTHSVC_SECRET": testSecret, "AUTHSVC_GITHUB_ID": "a", "AUTHSVC_GITHUB_SECRET": "b", "AUTHSVC_STORAGE_URL": c.variable}}
		if s, err := p.load(nil); err != nil || s.Storage.URL != c.want {
			t.Errorf("storage.url is not %s: %v", c.want, err)
		}
	}
}

// TestDeployNames: the metrics, audit events and messages that docs/deploy.md names
// exist.
func TestDeployNames(t *testing.T) {
	t.Parallel()
	page := deployPage(t)
	read := func(name string) string {
		raw, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	events, metrics := read("docs/audit.md"), read("cmd/authsvc/internal/metrics/runtime.go")+read("cmd/authsvc/admin.go")
	found := 0
	for _, name := range regexp.MustCompile("`((?:authsvc|process)_[a-z_]+)`").FindAllStringSubmatch(page, -1) {
		if found++; !strings.Contains(metrics, `"`+name[1]+`"`) {
			t.Errorf("there is no metric %s", name[1])
		}
	}
	if found < 4 {
		t.Errorf("%d metrics", found)
	}
	found = 0
	for _, name := range regexp.MustCompile("`([a-z_]+\\.[a-z_]+)`").FindAllStringSubmatch(page, -1) {
		if slices.Contains([]string{"authsvc.db", "authsvc.dump", "redis.conf", "container.env", "dump.rdb", "admin.listen", "storage.url", "storage.migrate", "audit.keep", "session.strategy"}, name[1]) {
			continue
		}
		if found++; !strings.Contains(events, "| `"+name[1]+"` |") {
			t.Errorf("there is no audit event %s", name[1])
		}
	}
	if found < 11 {
		t.Errorf("%d events", found)
	}
	_, table, _ := strings.Cut(page, "| Message | Means |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	messages := regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(table, -1)
	if len(messages) < 8 {
		t.Errorf("%d messages", len(messages))
	}
	source := productSource(t)
	for _, m := range messages {
		if !regexp.MustCompile(`(Error|LogAttrs)\([^\n]*` + regexp.QuoteMeta(m[1])).MatchString(source) {
			t.Errorf("nothing logs %q as an error", m[1])
		}
	}
}

// productSource returns the source of the engine and the command.
func productSource(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, dir := range []string{"engine", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			raw, err := os.ReadFile(path)
			all.Write(raw)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}
