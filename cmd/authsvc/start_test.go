package main

import (
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// initLine matches the output of GODEBUG=inittrace=1 for one of our packages.
var initLine = regexp.MustCompile(`(?m)^init (authsvc\S*) .* (\d+) bytes, \d+ allocs$`)

// TestInitialization: each start and each command pays for the work of packages before
// main. Expressions, scripts and tables are therefore made when they are first needed.
func TestInitialization(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^$")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines := initLine.FindAllStringSubmatch(string(out), -1)
	if len(lines) < 3 {
		t.Fatalf("only %d of our packages are traced: %s", len(lines), out)
	}
	all := 0
	for _, line := range lines {
		if strings.HasPrefix(line[1], "authsvc/internal/test/") {
			continue // only for tests
		}
		n, err := strconv.Atoi(line[2])
		if err != nil {
			t.Fatal(err)
		}
		if all += n; n > 48<<10 {
			t.Errorf("%s allocates %d bytes before main", line[1], n)
		}
	}
	if all > 96<<10 {
		t.Errorf("our packages allocate %d bytes before main", all)
	}
}
