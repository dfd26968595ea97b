package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAdminEnv: authsvc-admin reads /etc/authsvc/env as systemd does, and refuses lines
// that systemd would read in another way. It prints no values.
func TestAdminEnv(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile(filepath.Join("..", "..", "deploy", "authsvc-admin"))
	if err != nil {
		t.Fatal(err)
	}
	const program = "setpriv --reuid=authsvc --regid=authsvc --init-groups --no-new-privs /usr/local/bin/authsvc "
	if strings.Count(string(script), program) != 1 {
		t.Fatalf("authsvc-admin does not run %s", program)
	}
	const quoted = "must have no quotes, no backslashes, and no spaces around its value"
	for name, c := range map[string]struct{ env, want string }{
		"values":             {"# a comment\n\n  ; another\nA=x y\nB=k=\"v'w\nC=\n  D=$HOME `id` #1\nno value", "secret\nx y\nk=\"v'w\n\n$HOME `id` #1\n"},
		"no end of line":     {"A=last", "secret\nlast\n\n\n\n"},
		"double quotes":      {"A=\"hidden\"", "A " + quoted},
		"single quotes":      {"A='hidden'", "A " + quoted},
		"a backslash":        {"A=hid\\den", "A " + quoted},
		"a space before":     {"A= hidden", "A " + quoted},
		"a space after":      {"A=hidden ", "A " + quoted},
		"an end of line, CR": {"A=hidden\r\n", "A " + quoted},
		"the secret":         {"AUTHSVC_SECRET=hidden", "AUTHSVC_SECRET must not be here"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{"secret": "secret\n", "env": c.env} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			text := strings.NewReplacer("</etc/authsvc", "<"+dir, "[ -e /etc/authsvc", "[ -e "+dir, "cat /etc/authsvc", "cat "+dir, "cd /var/lib/authsvc", "cd "+dir, program, "sh -c ").Replace(string(script))
			cmd := exec.CommandContext(t.Context(), "sh", "-c", text, "authsvc-admin", `printf '%s\n' "$AUTHSVC_SECRET" "$A" "$B" "$C" "$D"`)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
			out, err := cmd.CombinedOutput()
			refused := !strings.HasPrefix(c.want, "secret\n")
			if (err != nil) != refused || !refused && string(out) != c.want || !strings.Contains(string(out), c.want) || strings.Contains(string(out), "hidden") {
				t.Errorf("%v, %q, want %q", err, out, c.want)
			}
		})
	}
}
