package verify

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"authsvc/internal/test/process"
)

// needsProc is for checks that inspect the process from outside.
var needsProc = need{func() string {
	if _, err := os.Stat("/proc/self/status"); err != nil {
		return "needs /proc"
	}
	return ""
}}

// procStatus returns a number from /proc/PID/status, such as VmRSS (KiB) or Threads.
func procStatus(t testing.TB, p *process.Process, name string) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s", name)
	return 0
}

// procFiles counts the open files and connections of the process.
func procFiles(t testing.TB, p *process.Process) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// procSettles waits until the process has at most most open files, and returns how
// long that took.
func procSettles(t testing.TB, p *process.Process, most int, patience time.Duration) time.Duration {
	t.Helper()
	began := time.Now()
	for procFiles(t, p) > most {
		if time.Since(began) > patience {
			t.Errorf("%d files are open after %v, want %d", procFiles(t, p), patience, most)
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return time.Since(began)
}
