package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCandidates: the words that may stand at the end of a command line.
func TestCandidates(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"us":                                "users",
		"users ":                            "list show create invite set block unblock end-sessions delete keep export",
		"users de":                          "delete",
		"users show ":                       "",
		"users show ada de":                 "",
		"users --li":                        "--limit", // of the default command
		"users list --prefix ":              "",
		"users list --prefix a --bl":        "--blocked",
		"users list --prefix=a --bl":        "--blocked",
		"users block ada --y":               "--yes",
		"users unblock ada --y":             "", // hidden
		"-c users mig":                      "migrate migrate-from",
		"--config = users mig":              "migrate migrate-from", // as bash splits --config=users
		"-cusers mig":                       "migrate migrate-from",
		"migrate compat ":                   "none next-auth-v4 authjs-v5",
		"migrate emails --dry":              "--dry-run", // an alias
		"help users bl":                     "block",
		"help us":                           "users",
		"users -- --li":                     "",
		"completion ":                       "bash zsh fish",
		"nothing --":                        "--help --config --dev --version",
		"users list --json --limit 5 --due": "--due",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			var all commands
			var got []string
			for _, c := range candidates(newParser(&all, io.Discard, io.Discard).Model.Node, strings.Split(line, " ")) {
				got = append(got, c.text)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestCompletionOfShells: zsh and fish, if they are there, accept their scripts and
// complete with them.
func TestCompletionOfShells(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, content := range completionScripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stub := filepath.Join(dir, "authsvc")
	if err := os.Symlink(os.Args[0], stub); err != nil {
		t.Fatal(err)
	}
	for shell, script := range map[string]string{
		"zsh": `compdef() { }; . ./zsh; _describe() { print -rl -- "${(P@)2}" }; _files() { print files }
			words=(authsvc users bl) CURRENT=3; _authsvc; words=(authsvc users show a) CURRENT=4; _authsvc`,
		"fish": `. ./fish; complete -C 'authsvc users bl'; complete -C 'authsvc users show fis'`,
	} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("there is no %s", shell)
			continue
		}
		cmd := exec.Command(path, "-c", script)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir)
		out, err := cmd.CombinedOutput()
		files := map[string]string{"zsh": "files", "fish": "fish"}[shell]
		if text := string(out); err != nil || !strings.HasPrefix(text, "block") || !strings.Contains(text, "Keep a person out") || !strings.HasSuffix(text, files+"\n") {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}
