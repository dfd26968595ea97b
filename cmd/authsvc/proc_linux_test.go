package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// filesOf counts the open files of a process.
func filesOf(t *testing.T, l *life) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", l.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// memoryOf is what a process has in memory, such as "12345 kB".
func memoryOf(t *testing.T, l *life) string {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "VmRSS:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}
