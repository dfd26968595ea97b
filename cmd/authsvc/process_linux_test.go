package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// openFiles counts the open files of a process.
func openFiles(t *testing.T, l *process) int {
	t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", l.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// residentMemory returns the resident memory of a process, such as "12345 kB".
func residentMemory(t *testing.T, l *process) string {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", l.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(raw), "VmRSS:")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.TrimSpace(line)
}
