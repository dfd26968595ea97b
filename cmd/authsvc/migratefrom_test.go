package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// TestMigrateFrom reads the applications in testdata/migratefrom. Each file has the
// application below app/, the printed report, the proposal, and the variables with which
// `check --offline` must accept the proposal. No value of a .env file and no secret of a
// source may be printed; they all have "hunter2" in them.
func TestMigrateFrom(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/migratefrom/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			parts := map[string]string{}
			for _, f := range archive.Files {
				if !strings.HasPrefix(f.Name, "app/") {
					parts[f.Name] = string(f.Data)
					continue
				}
				writeFile(t, filepath.Join(dir, f.Name), f.Data)
			}
			proposal := filepath.Join(dir, "authsvc.yaml")
			code, report := runCommand(t, nil, "migrate-from", "next-auth", filepath.Join(dir, "app"), "-o", proposal)
			raw, err := os.ReadFile(proposal)
			if err != nil {
				t.Fatal(err, report)
			}
			config := string(raw)
			for _, text := range []string{report, config} {
				if strings.Contains(text, "hunter2") {
					t.Errorf("it printed a secret:\n%s", text)
				}
			}
			if (code == exitFailed) != strings.Contains(report, "\nopen ") || code == exitUsage {
				t.Errorf("exit code %d", code)
			}
			report, config = strings.ReplaceAll(report, dir, "DIR"), strings.ReplaceAll(config, dir, "DIR")
			if *update {
				writeArchive(t, file, archive, report, config)
			} else if diff := cmp.Diff(parts["report"], report) + cmp.Diff(parts["authsvc.yaml"], config); diff != "" {
				t.Errorf("run go test ./cmd/authsvc -run TestMigrateFrom -update (-want +have):\n%s", diff)
			}
			code, out := runCommand(t, strings.Split(parts["env"], "\n"), "check", "--offline", "-c", proposal)
			if code != exitOK {
				t.Errorf("check: exit code %d\n%s", code, out)
			}
		})
	}
}

// runCommand runs a command line, and returns its exit code and all of its output.
func runCommand(t *testing.T, environ []string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	code := run(t.Context(), args, environ, strings.NewReader(""), &out, &out)
	return code, out.String()
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// writeArchive writes the report and the proposal into a file of testdata.
func writeArchive(t *testing.T, file string, a *txtar.Archive, report, config string) {
	t.Helper()
	kept := a.Files[:0:0]
	for _, f := range a.Files {
		if f.Name != "report" && f.Name != "authsvc.yaml" {
			kept = append(kept, f)
		}
	}
	a.Files = append(kept, txtar.File{Name: "report", Data: []byte(report)}, txtar.File{Name: "authsvc.yaml", Data: []byte(config)})
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}
