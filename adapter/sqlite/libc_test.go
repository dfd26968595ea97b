package sqlite

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestLibcVersion checks that no other dependency raises modernc.org/libc. The driver
// is C translated for one version of it, and is correct only with that version.
func TestLibcVersion(t *testing.T) {
	t.Parallel()
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Skip("needs the go command")
	}
	module := func(path string) (m struct{ Version, GoMod string }) {
		out, err := exec.CommandContext(t.Context(), goCommand, "list", "-m", "-json", path).Output()
		if err == nil {
			err = json.Unmarshal(out, &m)
		}
		if err != nil {
			t.Fatalf("go list %s: %v", path, err)
		}
		return m
	}
	f, err := os.Open(module("modernc.org/sqlite").GoMod)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	used := module("modernc.org/libc").Version
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(lines.Text()), "require "))
		if len(words) >= 2 && words[0] == "modernc.org/libc" {
			if words[1] != used {
				t.Errorf("modernc.org/sqlite was made for libc %s, the build uses %s", words[1], used)
			}
			return
		}
	}
	t.Error("modernc.org/sqlite does not name its libc")
}
